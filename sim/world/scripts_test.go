package world

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/holdfast-sim/holdfast/sim/network"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
)

// lockScripts are those of the reference lock.
func lockScripts(t *testing.T) []string {
	t.Helper()
	names, _ := filepath.Glob("../../lockimpl/scripts/*.lua")
	if len(names) < 10 {
		t.Fatalf("only %d scripts", len(names))
	}
	var all []string
	for _, name := range names {
		all = append(all, wholeScript(t, name))
	}
	return all
}

// wholeScript is a script of the lock with those that it says it comes after: their beginnings are shared.
func wholeScript(t *testing.T, name string) string {
	t.Helper()
	source, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	whole := string(source)
	if first, after := strings.CutPrefix(whole, "-- After "); after {
		first, _, _ = strings.Cut(first, ". ")
		first, _, _ = strings.Cut(first, ".\n")
		var begin string
		for _, file := range strings.Split(first, " and ") {
			begin += wholeScript(t, filepath.Join(filepath.Dir(name), strings.TrimSuffix(file, ".lua")+".lua")) + "\n"
		}
		return begin + whole
	}
	return whole
}

// otherScripts return all that a script can return, and fail in all ways.
var otherScripts = []string{
	"return 1", "return -3.7", "return 2^40", "return 'text'", "return ''", "return nil", "return", "return true", "return false", "return {}",
	"return {1, 'two', {3, {}}, false, true}", "return {1, 2, nil, 4}", "return KEYS", "return ARGV", "return #KEYS + #ARGV", "return {ok = 'fine'}",
	"return {err = 'MINE not fine'}", "return redis.status_reply('fine')", "return redis.error_reply('MINE not fine')",
	"return redis.error_reply('-MINE fine')", "return redis.call('get', KEYS[1])", "return redis.call('set', KEYS[1], ARGV[1])",
	"return redis.call('set', KEYS[1], ARGV[1], 'nx')", "return redis.call('incrby', KEYS[1], 3)", "return redis.pcall('incrby', KEYS[1], ARGV[1])",
	"return redis.call('hset', KEYS[1], 'f', 1.5)", "return redis.pcall('hgetall', KEYS[1])", "return redis.pcall('mget', KEYS[1], KEYS[2])",
	"return redis.pcall('get', KEYS[1]).err or 'none'", "return redis.call('type', KEYS[1]).ok", "return redis.call('del', unpack(KEYS))",
	"return type(redis.call('get', KEYS[1]))", "return redis.call('get', {})", "return redis.call()", "return redis.call('get')",
	"local t = redis.pcall('get') return t.err and 1 or 0", "error('mine')", "return nothing.here", "local a = nil return a.b", "return #ARGV[1] .. ''",
	"return tostring(1.25) .. tostring(nil) .. tostring(10)", "return string.format('%5.2f|%s', 3.14159, ARGV[1])",
	"return ('abc'):upper() .. string.sub(ARGV[1], 1, 1)", "local t = {} for k in pairs({a = 1}) do t[#t + 1] = k end return t",
	"local t = {3, 1, 2} table.sort(t) return table.concat(t, ',')", "return {pcall(redis.call, 'get')}", "return {pcall(error, 'mine')}",
	"return redis['call']('get', KEYS[1])", "return math.max(1, 2) + math.floor(2.5)", "local n = 0 for i, v in ipairs(ARGV) do n = n + i end return n",
	"local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end return f(20)", "return redis.call('pexpire', KEYS[1], 100000)",
	"return redis.call('publish', 'channel', ARGV[1])", "return redis.call('lpush', KEYS[1], 'x')", "return string.rep('ab', 3000)",
	"return tonumber('12') + tonumber('0x10')", "if redis.call('exists', KEYS[1]) == 1 then return 'there' end return 'gone'", "return {1, 2",
}

// wildScripts could leave something behind, or are not known to be unable to.
var wildScripts = []string{
	"x = 1", "KEYS = 1", "redis = nil", "function redis.call() end", "redis.call = 1", "local r = redis; r.call = nil", "rawset(_G, 'x', 1)", "return _G",
	"return {redis}", "string.format = nil", "local s = string return s.len('a')", "table.insert(redis, 1)", "setmetatable({}, {})",
	"return getmetatable('').__index", "return loadstring('x = 1')()", "setfenv(1, {})", "string.dump(print)", "return redis.sha1hex('')",
	"return redis['c' .. 'all']('get', 'k')", "return select('#', 1, 2)", "return math.random()", "return unknown", "return string.__index", "redis.call('select', 1)",
	"return redis.call('MULTI')", "(function() x = 1 end)()", "local f = (redis or KEYS).call", "for k, v in pairs(math) do end", "return cjson.encode({})",
	"redis.setresp(3)", "redis.log(1, 'text')", "coroutine.wrap(function() end)()", "return string", "if redis then return 1 end",
}

func TestWhichScriptsAreTame(t *testing.T) {
	for _, source := range append(lockScripts(t), otherScripts...) {
		if whole := source != "return {1, 2" && source != "return nothing.here"; (compiled(source).code != nil) != whole {
			t.Errorf("tame is not %v: %s", whole, source)
		}
	}
	for _, source := range wildScripts {
		if compiled(source).code != nil {
			t.Errorf("tame: %s", source)
		}
	}
}

// wired is one connection to a server.
type wired struct {
	c    net.Conn
	r    *bufio.Reader
	rest []byte
}

func (w *wired) do(t *testing.T, args []string) string {
	t.Helper()
	if _, err := w.c.Write(wireCommand(args)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 16<<10)
	for (&network.Replies{}).Next(w.rest) == 0 {
		w.c.SetReadDeadline(time.Now().Add(10 * time.Second))
		n, err := w.r.Read(buf)
		if err != nil && err != io.EOF || n == 0 {
			t.Fatalf("%q: %v after %q", args, err, w.rest)
		}
		w.rest = append(w.rest, buf[:n]...)
	}
	size := (&network.Replies{}).Next(w.rest)
	answer := string(w.rest[:size])
	w.rest = w.rest[size:]
	return answer
}

// miniredises are two that are equal but for who runs their scripts.
func miniredises(t *testing.T) (ours, theirs *miniredis.Miniredis) {
	t.Helper()
	made := [2]*miniredis.Miniredis{}
	for i := range made {
		made[i] = miniredis.NewMiniRedis()
		made[i].SetTime(time.Unix(1_700_000_000, 123_456_789))
		t.Cleanup(made[i].Close)
		dial(t, made[i])
	}
	runScripts(made[0], nil)
	return made[0], made[1]
}

func dial(t *testing.T, m *miniredis.Miniredis) *wired {
	t.Helper()
	c, err := m.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &wired{c: c, r: bufio.NewReader(c)}
}

// drawCommand draws a command that runs one of the scripts, or may make a difference to how.
func drawCommand(r *rand.Rand, scripts []string) []string {
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	one := compiled(scripts[r.IntN(len(scripts))])
	args := []string{"EVAL", one.source}
	switch r.IntN(30) {
	case 0:
		return []string{"MULTI"}
	case 1, 2:
		return []string{"EXEC"}
	case 3:
		return []string{"SCRIPT", "FLUSH"}
	case 4:
		return []string{"SCRIPT", "EXISTS", one.digest}
	case 5:
		return []string{"SCRIPT", "LOAD", one.source}
	case 6:
		return []string{"SELECT", pick("0", "1")}
	case 7:
		return []string{"HELLO", pick("2", "3")}
	case 8:
		return []string{pick("SET", "HINCRBY"), pick("a", "b"), "c1:1", "1"}[:3+r.IntN(2)]
	case 9:
		return []string{"FLUSHALL"}
	case 10:
		return []string{"EVALSHA_RO", one.digest, "0"}
	case 11, 12, 13, 14, 15, 16, 17, 18, 19:
		args = []string{pick("EVALSHA", "evalsha"), one.digest}
	}
	keys := r.IntN(7)
	args = append(args, pick(fmt.Sprint(keys), fmt.Sprint(keys), fmt.Sprint(keys), fmt.Sprint(keys), fmt.Sprint(keys), "-1", "x", "99"))
	for range keys {
		args = append(args, pick("a", "b", "c"))
	}
	for range r.IntN(7) {
		args = append(args, pick("30000", "c1:1", "c2:1", fmt.Sprintf("%016d", r.IntN(5)), "60000", "5", "1"))
	}
	return args
}

// Whoever runs the scripts, and whichever were run before, the answers are the same, byte for byte.
func TestScriptsAnswerAsMiniredis(t *testing.T) {
	scripts := append(append(lockScripts(t), lockScripts(t)...), append(otherScripts, wildScripts...)...)
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		ours, theirs := miniredises(t)
		connections := [][2]*wired{{dial(t, ours), dial(t, theirs)}, {dial(t, ours), dial(t, theirs)}}
		for range 150 {
			c, args := connections[r.IntN(2)], drawCommand(r, scripts)
			got, want := c[0].do(t, args), c[1].do(t, args)
			for _, differ := range []string{"random", "This Redis command is not allowed", "must be strings or integers", "at least one argument"} {
				if strings.Contains(args[1%len(args)], differ) || strings.Contains(want, differ) {
					got = want // what is drawn by chance, and errors that are worded otherwise
				}
			}
			if got != want {
				t.Fatalf("seed %d: %.300q: %q, and not %q", seed, args, got, want)
			}
		}
		if got, want := ours.Dump(), theirs.Dump(); got != want {
			t.Fatalf("seed %d: left\n%s\nand not\n%s", seed, got, want)
		}
	}
}

// A script that a client loads is run here, too, also after a transaction, in which scripts can be flushed.
func TestLoadedScriptsAreRunHere(t *testing.T) {
	m := miniredis.NewMiniRedis()
	defer m.Close()
	loads, others := dial(t, m), dial(t, m)
	s := runScripts(m, nil)
	here := func(digest string) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.known[digest] != nil
	}
	one := compiled("return redis.call('incr', KEYS[1])")
	run := []string{"EVALSHA", one.digest, "1", "a"}
	loads.do(t, []string{"SCRIPT", "LOAD", one.source})
	if got := loads.do(t, run); got != ":1\r\n" || !here(one.digest) {
		t.Errorf("loaded: %q, run here: %v", got, here(one.digest))
	}
	others.do(t, []string{"MULTI"})
	others.do(t, []string{"EXEC"})
	if got := loads.do(t, run); got != ":2\r\n" || !here(one.digest) {
		t.Errorf("after a transaction: %q, run here: %v", got, here(one.digest))
	}
	for _, command := range [][]string{{"MULTI"}, {"SCRIPT", "FLUSH"}, {"EXEC"}} {
		others.do(t, command)
	}
	if got := loads.do(t, run); !strings.HasPrefix(got, "-NOSCRIPT") {
		t.Errorf("flushed in a transaction: %q", got)
	}
}

// The same as a real server's, but for how errors are worded.
func TestScriptsAnswerAsRedis(t *testing.T) {
	redisserver.Need(t)
	server, err := redisserver.Start(t.Context(), redisserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	c, err := net.Dial("tcp", server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	theirs := &wired{c: c, r: bufio.NewReader(c)}
	m := miniredis.NewMiniRedis()
	defer m.Close()
	ours := dial(t, m)
	runScripts(m, nil)
	told := func(answer string) string {
		if strings.HasPrefix(answer, "-") {
			return "an error"
		}
		return answer
	}
	r := rand.New(rand.NewPCG(1, 1))
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	for range 1000 {
		args := []string{"EVAL", pick(otherScripts...), "2", pick("a", "b"), pick("b", "c"), pick("5", "text"), "x"}
		switch {
		case r.IntN(10) == 0:
			args = []string{"DEL", "a"}
		case strings.Contains(args[1], "{pcall"):
			continue // returns how an error is worded
		}
		if got, want := told(ours.do(t, args)), told(theirs.do(t, args)); got != want {
			t.Errorf("%q: %q, and not %q", args, got, want)
		}
	}
}

// Redis's Lua takes a string for the bound of a loop, as Redisson's renewal of read locks gives it. miniredis's does not.
func TestBoundsOfLoopsMayBeStrings(t *testing.T) {
	m := miniredis.NewMiniRedis()
	defer m.Close()
	servers := map[string]*wired{"ours": dial(t, m)}
	runScripts(m, nil)
	if _, err := exec.LookPath("redis-server"); err == nil {
		server, err := redisserver.Start(t.Context(), redisserver.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		c, err := net.Dial("tcp", server.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		servers["Redis's"] = &wired{c: c, r: bufio.NewReader(c)}
	}
	for source, want := range map[string]string{
		"local n = 0 for i = ARGV[1], 1, -1 do n = n + i end return n":                                                                   ":6\r\n",
		"local n = 0 if n == 0 then for i = 1, ARGV[1], '2' do n = n + i end end return n":                                               ":4\r\n",
		"local n = 0 while n == 0 do repeat do for k in ipairs(KEYS) do for i = '1', 2 do n = n + i end end end until true end return n": ":3\r\n",
	} {
		for whose, c := range servers {
			if got := c.do(t, []string{"EVAL", source, "1", "key", "3"}); got != want {
				t.Errorf("%s: %q answers %q, want %q", whose, source, got, want)
			}
		}
		if compiled(source).code == nil {
			t.Errorf("%q is left to miniredis", source)
		}
	}
	if got := servers["ours"].do(t, []string{"EVAL", "for i = 'x', 1 do end", "0"}); !strings.HasPrefix(got, "-ERR ") {
		t.Errorf("a bound that is no number: %q", got)
	}
}
