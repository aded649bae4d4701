package redisserver

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/sim/redisserver/tlstest"
)

const prefix = "holdfast:test:"

func TestConnect(t *testing.T) {
	s := server(t, Options{Password: "pa55 word"})
	r, err := Connect(t.Context(), "redis://:pa55%20word@"+s.Addr()+"/3", Needs{AtLeast: "6.2", Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	o := r.RedisOptions()
	if r.Name() != "redis://:***@"+s.Addr()+"/3" || r.Software() != s.Software() || o.DB != 3 || o.Password != "pa55 word" {
		t.Errorf("%s, version %s, %+v", r.Name(), r.Software(), o)
	}
	if left, err := s.Client().DBSize(t.Context()).Result(); left != 0 || err != nil {
		t.Errorf("%d keys left, %v", left, err)
	}
}

func TestConnectSaysWhatIsWrong(t *testing.T) {
	s := server(t, Options{Password: "pa55word"})
	open := server(t, Options{})
	replica := server(t, Options{})
	if err := replica.ReplicaOf(t.Context(), open); err != nil {
		t.Fatal(err)
	}
	cluster := server(t, Options{Config: []string{"cluster-enabled yes"}})
	full := server(t, Options{Config: []string{"maxmemory 1"}})
	down := server(t, Options{})
	user := server(t, Options{Config: []string{"user reader on >pa55word ~* +@read +ping +info"}})
	misconf := server(t, Options{Config: []string{"save 3600 1", "dbfilename data"}})
	// A folder is in the way of its data.
	if err := os.Mkdir(filepath.Join(misconf.dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	set(t, misconf, "k", "v")
	if err := misconf.Client().BgSave(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "saving failed", func() bool {
		info, err := infoOf(t.Context(), misconf.Client(), "persistence")
		return err == nil && info["rdb_last_bgsave_status"] == "err"
	})
	loading := scripted(t, "-LOADING Redis is loading the dataset in memory\r\n")
	web := scripted(t, "HTTP/1.1 400 Bad Request\r\n\r\n")
	down.Kill() // last, or one of the others may get its port

	tests := []struct{ address, want string }{
		{"redis://" + down.Addr(), "nobody listens there"},
		{"redis://holdfast.invalid", "redis://holdfast.invalid:6379: there is no host of that name"},
		{"redis://" + s.Addr(), "wants a password"},
		{"redis://:pa55wort@" + s.Addr(), "refuses this user or password"},
		{"redis://someone:pa55word@" + s.Addr(), "refuses this user or password"},
		{"redis://" + replica.Addr(), "this is a replica, which takes no writes; its master is " + open.Addr()},
		{"redis://" + cluster.Addr(), "node of a Cluster"},
		{"redis://" + full.Addr(), "its memory is full"},
		{"redis://" + misconf.Addr(), "cannot save its data"},
		{"redis://reader:pa55word@" + user.Addr(), "may not do what is needed"},
		{"redis://" + open.Addr() + "/99", "no database of that number"},
		{"redis://" + loading, "still loading its data"},
		{"redis://" + web, "no Redis server that can be used"},
		{"redis://:pa55word@[::1", "cannot be read"},
		{"http://u:pa55word@" + open.Addr(), "of another kind"},
		{"localhost:6379", "it must be redis://user:password@host:port/db"},
		{"redis://h/one", "database that is no number"},
		{"redis://h/0?password=pa55word", "a query"},
	}
	for _, tt := range tests {
		_, err := Connect(t.Context(), tt.address, Needs{Prefix: prefix})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, not %q", tt.address, err, tt.want)
			continue
		}
		if text := err.Error(); strings.Contains(text, "pa55") || strings.Contains(text, "\n") {
			t.Errorf("%s: %q", tt.address, text)
		}
	}
	// A short password is part of many words: where it is missing in one, it shows.
	if _, err := Connect(t.Context(), "redis://u:p@"+s.Addr(), Needs{}); err == nil || err.Error() != "redis://u:***@"+s.Addr()+": the server refuses this user or password" {
		t.Error(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := Connect(soon, "rediss://"+open.Addr(), Needs{}); err == nil || !strings.Contains(err.Error(), "does not speak TLS") {
		t.Error(err)
	}
	if _, err := Connect(t.Context(), "redis://"+open.Addr(), Needs{AtLeast: "99"}); err == nil || !strings.Contains(err.Error(), "is version "+open.Software().Version+", but version 99 or later is needed") {
		t.Error(err)
	}
}

// A key is known for one of a run by what its name says of itself.
func TestTheNameOfARunIsKnownForOne(t *testing.T) {
	name := RunName()
	old := strings.TrimSuffix(name[:len(runPrefix)+drawn], ":")
	for _, tt := range []struct {
		key, run string
		certain  bool
	}{
		{name + ":order:42", name, true}, {"{" + name + ":order:42}:fence", name, true}, {"redisson_lock__channel:{" + name + ":l}", name, true},
		{"holdfast:customers:" + name + ":x", name, true}, // the lock of a run, whatever it derives from it
		{old + ":lock-1", old, false}, {old[:len(old)-2] + ":lock-1", old[:len(old)-2], false}, {"holdfast:customers:17", "", false}, {"holdfast:invoices:17", "holdfast:invoices", false},
		{name[:len(name)-1] + "2:lock", "", false}, {strings.ToUpper(name) + ":l", "", false}, {name, "", false}, {"holdfast:theirs:1", "", false},
	} {
		if strings.HasSuffix(name, "2") && strings.HasSuffix(tt.key, "2:lock") {
			continue // it is the same
		}
		if run, certain := runOf(tt.key); run != tt.run || certain != tt.certain {
			t.Errorf("%s is of %q (%t), not %q (%t)", tt.key, run, certain, tt.run, tt.certain)
		}
	}
	for name, want := range map[string]bool{name: true, old: true, "holdfast:invoices": true, "": false, "invoices": false, "holdfast:": false, "*": false, name + ":x": false} {
		if IsRunName(name) != want {
			t.Errorf("%q is a name of a run: %t", name, !want)
		}
	}
}

// Over TLS with certificates on both sides, over a socket, and as a user with rights of his own.
func TestConnectOverTLSAndSockets(t *testing.T) {
	dir := t.TempDir()
	cert, key := tlstest.Certificate(t)
	file := func(name string) string { return filepath.Join(dir, name) }
	s := server(t, Options{Second: "tls-port", Config: []string{
		"tls-cert-file " + cert, "tls-key-file " + key, "tls-ca-cert-file " + cert, "tls-auth-clients yes",
		"unixsocket " + file("socket"), "user locker on >pa55word ~holdfast:* &* +@all -@dangerous +info +scan",
	}})
	port := s.SecondPort()
	tls := TLS{CA: cert, Cert: cert, Key: key}
	for _, tt := range []struct {
		address string
		tls     TLS
		name    string
	}{
		{fmt.Sprintf("rediss://locker:pa55word@localhost:%d", port), tls, fmt.Sprintf("rediss://locker:***@localhost:%d", port)},
		{"unix://" + file("socket") + "?db=2", TLS{}, "unix://" + file("socket") + "?db=2"},
		{"unix://locker:pa55word@" + file("socket"), TLS{}, "unix://locker:***@" + file("socket")},
		{"redis://locker:pa55word@" + s.Addr(), TLS{}, "redis://locker:***@" + s.Addr()},
	} {
		r, err := Connect(t.Context(), tt.address, Needs{Prefix: prefix, TLS: tt.tls})
		if err != nil || r.Name() != tt.name {
			t.Errorf("%s: %v", tt.address, err)
			continue
		}
		if _, err := r.Clean(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", tt.address, err)
		}
	}
	for _, tt := range []struct {
		tls  TLS
		want string
	}{
		{TLS{}, "signed by an authority that this machine does not know"}, {TLS{CA: tls.CA}, "certificate"}, {TLS{CA: tls.Key}, "there is no certificate in it"},
		{TLS{CA: file("none")}, "no such file"}, {TLS{Cert: tls.Cert}, "no such file"},
	} {
		if _, err := Connect(t.Context(), fmt.Sprintf("rediss://localhost:%d", port), Needs{TLS: tt.tls}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, not %q", tt.tls, err, tt.want)
		}
	}
}

// scripted is a server that has one answer to everything.
func scripted(t *testing.T, answer string) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					if strings.HasPrefix(line, "*") {
						fmt.Fprint(c, answer)
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func TestOlder(t *testing.T) {
	tests := []struct {
		version, least string
		older          bool
	}{
		{"7.0.15", "", false}, {"7.0.15", "7", false}, {"7.0.15", "7.0.15", false}, {"7.0.15", "7.0.16", true},
		{"7.0.15", "7.2", true}, {"10.0", "9.9.9", false}, {"6", "6.0.1", true}, {"6.2.0-rc1", "6.2", false}, {"", "2.6", true},
	}
	for _, tt := range tests {
		if got := older(tt.version, tt.least); got != tt.older {
			t.Errorf("%s older than %s: %v", tt.version, tt.least, got)
		}
	}
}
