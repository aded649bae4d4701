package world

import (
	"bufio"
	"bytes"
	"strconv"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2"
	mini "github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

// scripts runs Lua scripts in place of a miniredis, which makes a Lua state for each EVAL: that was
// most of what a run in virtual time cost. Here one state serves all. So that no script can leave
// anything behind for the next, only tame ones are run here (see tame.go). All others, and those of a
// connection that said something that matters to its scripts, such as MULTI, are miniredis's affair.
type scripts struct {
	redis *miniredis.Miniredis
	sees  func(name string, args []string)
	own   *mini.Peer   // what we tell miniredis, and ask it
	said  bytes.Buffer // what it answers

	mu    sync.Mutex
	known map[string]*script  // that clients may name by their digests
	heard map[string]*script  // tame ones that were ever sent, by digest
	aside map[*mini.Peer]bool // connections whose scripts miniredis runs
	inner any                 // what miniredis keeps of a connection that a script's commands come by
}

// runScripts has the tame scripts of m run here. sees is called with each command, those of scripts included; nil: it is not.
func runScripts(m *miniredis.Miniredis, sees func(name string, args []string)) *scripts {
	s := &scripts{redis: m, sees: sees, known: map[string]*script{}, heard: map[string]*script{}, aside: map[*mini.Peer]bool{}}
	s.own = mini.NewPeer(bufio.NewWriter(&s.said))
	m.Server().SetPreHook(s.before)
	return s
}

// inside is a command that only before knows.
const inside = "HOLDFAST.INSIDE"

// minded are the commands that before looks at. A tame script has none of them.
var minded = map[string]bool{"EVAL": true, "EVALSHA": true, "EVALSHA_RO": true, "SCRIPT": true, "EXEC": true,
	"MULTI": true, "SELECT": true, "AUTH": true, "SUBSCRIBE": true, "PSUBSCRIBE": true, inside: true}

// before is called before each command, in capitals, and returns whether that was answered.
func (s *scripts) before(c *mini.Peer, command string, args ...string) bool {
	if c == s.own {
		return false
	}
	if s.sees != nil {
		s.sees(command, args)
	}
	switch {
	case !minded[command]:
		return false
	case command == inside:
		s.inner = c.Ctx
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch command {
	case "EVAL":
		return len(args) > 1 && !s.aside[c] && s.run(c, s.hear(args[0]), args[1:])
	case "EVALSHA":
		if len(args) < 2 || !s.knows(args[0]) {
			return false
		}
		if !s.aside[c] && s.run(c, s.known[args[0]], args[1:]) {
			return true
		}
		s.tell()
	case "EVALSHA_RO", "SCRIPT", "EXEC":
		if len(args) == 2 && strings.EqualFold(args[0], "LOAD") {
			s.hear(args[1])
		}
		s.tell()
		clear(s.known) // they may be flushed
	default:
		s.aside[c] = true
	}
	return false
}

// hear compiles a script, and remembers it if it can be run here.
func (s *scripts) hear(source string) *script {
	one := compiled(source)
	if one.code != nil {
		s.heard[one.digest] = one
	}
	return one
}

// knows reports whether a script that can be run here is known by its digest. Who loads scripts, or mixes them with
// transactions, has miniredis know them, which is asked then.
func (s *scripts) knows(digest string) bool {
	if s.known[digest] == nil && s.heard[digest] != nil && s.ask("SCRIPT", "EXISTS", digest) == "*1\r\n:1\r\n" {
		s.known[digest] = s.heard[digest]
	}
	return s.known[digest] != nil
}

// ask has miniredis answer a command of ours.
func (s *scripts) ask(args ...string) string {
	s.said.Reset()
	s.redis.Server().Dispatch(s.own, args)
	s.own.Flush()
	return s.said.String()
}

// tell has miniredis know the scripts that were run here.
func (s *scripts) tell() {
	for _, one := range s.known {
		s.ask("SCRIPT", "LOAD", one.source)
	}
}

// run runs a script on the keys and arguments that follow it in an EVAL, and returns false if it is
// not for us.
func (s *scripts) run(c *mini.Peer, one *script, args []string) bool {
	if one == nil || one.code == nil {
		return false
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 0 || n >= len(args) {
		return false
	}
	l, _ := states.Get().(*luaState)
	if l == nil {
		l = newLuaState(s)
	}
	l.server = s.redis.Server()
	globals := l.G.Global
	globals.RawSetString("KEYS", l.list(args[1:n+1]))
	globals.RawSetString("ARGV", l.list(args[n+1:]))
	s.redis.Lock()
	defer s.redis.Unlock()
	l.Push(l.NewFunctionFromProto(one.code))
	if err := l.PCall(0, lua.MultRet, nil); err != nil {
		c.WriteError("ERR Error compiling script (new function): " + err.Error()) // as miniredis has it
	} else {
		reply(c, l.Get(1))
		s.known[one.digest] = one
	}
	l.SetTop(0)
	states.Put(l)
	return true
}

// states are Lua states that are not in use.
var states sync.Pool

// luaState is a Lua state in which scripts can run, one after the other.
type luaState struct {
	*lua.LState
	server *mini.Server // of the script that runs
	inner  any
	reply  bytes.Buffer
	w      *bufio.Writer
	r      *bufio.Reader
}

func newLuaState(s *scripts) *luaState {
	l := &luaState{LState: lua.NewState(lua.Options{SkipOpenLibs: true})}
	l.w, l.r = bufio.NewWriter(&l.reply), bufio.NewReader(&l.reply)
	s.redis.Server().Dispatch(s.own, []string{"EVAL", "return redis.call('" + inside + "')", "0"})
	l.inner = s.inner
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable,
		lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath} {
		l.Push(l.NewFunction(open))
		l.Push(lua.LString(name))
		l.Call(1, 0)
	}
	// By its methods a string must not lead to the library itself, which could be changed.
	library := l.GetGlobal(lua.StringLibName).(*lua.LTable)
	library.RawSetString("__index", lua.LNil)
	methods := l.NewTable()
	methods.RawSetString("__index", library)
	l.SetMetatable(lua.LString(""), methods)
	l.SetGlobal("redis", l.SetFuncs(l.NewTable(), map[string]lua.LGFunction{
		"call":  func(*lua.LState) int { return l.call(l.fail) },
		"pcall": func(*lua.LState) int { return l.call(l.failed) },
		"error_reply": func(*lua.LState) int {
			text := strings.TrimPrefix(l.CheckString(1), "-")
			if !strings.Contains(text, " ") {
				text = "ERR " + text
			}
			return l.failed(text)
		},
		"status_reply": func(*lua.LState) int { return l.told("ok", l.CheckString(1)) },
	}))
	return l
}

// list makes a table of strings.
func (l *luaState) list(all []string) *lua.LTable {
	t := l.CreateTable(len(all), 0)
	for _, one := range all {
		t.Append(lua.LString(one))
	}
	return t
}

// told returns a table with one field to the script.
func (l *luaState) told(field, text string) int {
	t := l.NewTable()
	t.RawSetString(field, lua.LString(text))
	l.Push(t)
	return 1
}

func (l *luaState) failed(text string) int { return l.told("err", text) }

func (l *luaState) fail(text string) int {
	l.Error(lua.LString(text), 1)
	return 0
}

// call executes a command for the script; if it fails, fails says what comes of it.
func (l *luaState) call(fails func(text string) int) int {
	args := make([]string, l.GetTop())
	for i := range args {
		switch a := l.Get(i + 1).(type) {
		case lua.LString:
			args[i] = string(a)
		case lua.LNumber:
			args[i] = a.String()
		default:
			return l.fail("Lua redis lib command arguments must be strings or integers")
		}
	}
	if len(args) == 0 || minded[strings.ToUpper(args[0])] {
		return l.fail("This Redis command is not allowed from script")
	}
	c := mini.NewPeer(l.w)
	c.Ctx = l.inner
	l.server.Dispatch(c, args)
	l.w.Flush()
	answer, err := mini.ParseReply(l.r)
	l.reply.Reset()
	l.r.Reset(&l.reply)
	if err != nil {
		return fails(err.Error())
	}
	l.Push(l.value(answer))
	return 1
}

// value is an answer of the server, as scripts see it.
func (l *luaState) value(answer any) lua.LValue {
	switch a := answer.(type) {
	case int:
		return lua.LNumber(a)
	case string:
		return lua.LString(a)
	case mini.Simple:
		l.told("ok", string(a))
		defer l.Pop(1)
		return l.Get(-1)
	case []any:
		t := l.CreateTable(len(a), 0)
		for _, one := range a {
			t.Append(l.value(one))
		}
		return t
	}
	return lua.LFalse // nil
}

// reply answers with what a script returned.
func reply(c *mini.Peer, v lua.LValue) {
	switch v := v.(type) {
	case lua.LNumber:
		c.WriteInt(int(v))
	case lua.LString:
		c.WriteBulk(string(v))
	case *lua.LTable:
		if text := v.RawGetString("err"); text != lua.LNil {
			c.WriteError(text.String())
			return
		}
		if text := v.RawGetString("ok"); text != lua.LNil {
			c.WriteInline(text.String())
			return
		}
		n := 0
		for v.RawGetInt(n+1) != lua.LNil {
			n++
		}
		c.WriteLen(n)
		for i := range n {
			reply(c, v.RawGetInt(i+1))
		}
	default:
		if v == lua.LTrue {
			c.WriteInt(1)
			return
		}
		c.WriteNull()
	}
}
