package network_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/holdfast-sim/holdfast/sim/network"
)

func TestEachCommandIsAMessageOfItsOwn(t *testing.T) {
	set, ping := command("SET", "k", "a\r\nb*1\r\n"), command("PING")
	tests := []struct {
		name   string
		writes []string
		want   [][]string // arguments by message
	}{
		{"one", []string{ping}, [][]string{{"PING"}}},
		{"a pipeline", []string{ping + set + ping}, [][]string{{"PING"}, {"SET", "k", "a\r\nb*1\r\n"}, {"PING"}}},
		{"in two parts", []string{set[:9], set[9:]}, [][]string{{"SET", "k", "a\r\nb*1\r\n"}}},
		{"byte by byte", strings.Split(set, ""), [][]string{{"SET", "k", "a\r\nb*1\r\n"}}},
		{"an end and a beginning", []string{ping + set[:4], set[4:] + ping}, [][]string{{"PING"}, {"SET", "k", "a\r\nb*1\r\n"}, {"PING"}}},
		{"a beginning only", []string{set[:len(set)-1]}, nil},
		{"a line of words", []string{"PING\r\n  SET k v\n\r\n"}, [][]string{{"PING"}, {"SET", "k", "v"}}},
		{"nothing", []string{"*0\r\n*-1\r\n" + ping}, [][]string{{"PING"}}},
		{"too many arguments", []string{ping + "*9223372036854775807\r\n" + ping, ping}, [][]string{{"PING"}, {"?"}}},
		{"too long an argument", []string{"*1\r\n$9223372036854775807\r\n" + ping}, [][]string{{"?"}}},
		{"a length that is none", []string{"*1\r\n$x\r\n"}, [][]string{{"?"}}},
		{"a negative length", []string{"*1\r\n$-5\r\n"}, [][]string{{"?"}}},
		{"no string", []string{"*1\r\n:1\r\n"}, [][]string{{"?"}}},
		{"no end of a line", []string{strings.Repeat("x", 100<<10)}, [][]string{{"?"}}},
		{"empty arguments", []string{command("ECHO", "")}, [][]string{{"ECHO", ""}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 1)
				c, s := r.connect("c1")
				for _, w := range tt.writes {
					write(t, c, w)
				}
				var got [][]string
				var bytes string
				for _, m := range r.collect() {
					got, bytes = append(got, m.Args), bytes+string(m.Data)
				}
				if !slices.EqualFunc(got, tt.want, slices.Equal) {
					t.Errorf("%q, want %q", got, tt.want)
				}
				if sent := strings.Join(tt.writes, ""); len(tt.want) > 0 && sent[0] == '*' && !strings.Contains(bytes, "?") && tt.name != "nothing" && bytes != sent {
					t.Errorf("the messages carry %q of %q", bytes, sent)
				}
				r.settle()
				r.finish(c, s)
			})
		})
	}
}

func TestCommandsSurviveAnySplitting(t *testing.T) {
	commands := rapid.SliceOfN(rapid.SliceOfN(rapid.String(), 1, 4), 1, 5)
	rapid.Check(t, func(rt *rapid.T) {
		want := commands.Draw(rt, "commands")
		var text string
		for _, words := range want {
			text += command(words...)
		}
		var cuts []int
		for range rapid.IntRange(0, 6).Draw(rt, "cuts") {
			cuts = append(cuts, rapid.IntRange(0, len(text)).Draw(rt, "cut"))
		}
		cuts = append(cuts, len(text))
		slices.Sort(cuts)
		var got [][]string
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, 1)
			c, s := r.connect("c1")
			from := 0
			for _, to := range cuts {
				write(t, c, text[from:to])
				from = to
				for _, m := range r.collect() {
					got = append(got, m.Args)
				}
			}
			r.settle()
			r.finish(c, s)
		})
		if !slices.EqualFunc(got, want, slices.Equal) {
			rt.Fatalf("%q became %q", want, got)
		}
	})
}

func TestAReplyIsOneMessagePerWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		c, s := r.connect("c1")
		write(t, s, "*2\r\n:1\r\n")
		write(t, s, ":2\r\n")
		ms := r.collect()
		if len(ms) != 2 || ms[0].Dir != network.ToClient || string(ms[0].Data) != "*2\r\n:1\r\n" || ms[0].Args != nil {
			t.Errorf("%+v", ms)
		}
		r.settle()
		r.finish(c, s)
	})
}

func TestReplyText(t *testing.T) {
	tests := []struct{ reply, want string }{
		{"+OK\r\n", "OK"},
		{":-2\r\n", "-2"},
		{"-ERR no such thing\r\n", "ERR no such thing"},
		{"$-1\r\n", "nil"},
		{"_\r\n", "nil"},
		{"$4\r\na\r\nb\r\n", "a\r\nb"},
		{"*2\r\n:1\r\n:0\r\n", "[1 0]"},
		{"*3\r\n$1\r\na\r\n*1\r\n:7\r\n_\r\n", "[a [7] nil]"},
		{"*0\r\n", "[]"},
		{"*-1\r\n", "nil"},
		{"%1\r\n+server\r\n+redis\r\n", "[server redis]"},
		{">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\n0\r\n", "[message c 0]"},
		// Not understood, or cut off: no panic, and no endless loop.
		{"", ""}, {"\r\n", ""}, {"+OK", ""}, {"$9\r\nshort\r\n", "nil"}, {"*x\r\n", "nil"},
	}
	for _, tt := range tests {
		if got := network.ReplyText([]byte(tt.reply)); got != tt.want {
			t.Errorf("%q is %q, want %q", tt.reply, got, tt.want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) { // whatever comes, it ends
		network.ReplyText(rapid.SliceOf(rapid.SampledFrom([]byte("*$+:%>_-19\r\n"))).Draw(rt, "reply"))
	})
}

// What comes over a wire may be anything.
func FuzzRESP(f *testing.F) {
	for _, seed := range []string{command("SET", "k", "v") + "PING\r\n", "*9223372036854775807\r\n", "$9223372036854775807\r\n", "*0\r\n", "%9223372036854775806\r\n",
		strings.Repeat("*1\r\n", 1000), "|1\r\n+k\r\n+v\r\n:1\r\n", ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n"} {
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, b []byte, step uint8) {
		whole := (&network.Replies{}).Next(b)
		if whole > len(b) {
			t.Fatalf("a reply of %d bytes in %d", whole, len(b))
		}
		var parts network.Replies
		for n := 0; whole >= 0 && n < len(b); n += 1 + int(step) { // byte by byte it is the same
			if got := parts.Next(b[:n]); got != 0 {
				if got != whole {
					t.Fatalf("%d of %d bytes are a reply of %d, all of them one of %d", n, len(b), got, whole)
				}
				break
			}
		}
		network.ReplyText(b)
		network.Published(b)
		for rest := b; len(rest) > 0; {
			args, size, ok := network.ParseCommand(rest)
			if !ok || size == 0 {
				break
			}
			if size < 0 || size > len(rest) || len(args) > len(rest) {
				t.Fatalf("a command of %d bytes in %d", size, len(rest))
			}
			rest = rest[size:]
		}
	})
}

func TestReplySizeIsThatOfOneWholeReply(t *testing.T) {
	for _, reply := range []string{
		"+OK\r\n", "-ERR no\r\n", ":-12\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "(123456789012345678901\r\n",
		"$5\r\na\r\nbc\r\n", "$0\r\n\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n", "=7\r\ntxt:abc\r\n", "!3\r\nERR\r\n",
		"*2\r\n$1\r\na\r\n*1\r\n:1\r\n", "%1\r\n$1\r\na\r\n*1\r\n+b\r\n", "~1\r\n:1\r\n", ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n",
		"|1\r\n+k\r\n+v\r\n:1\r\n",
	} {
		for _, rest := range []string{"", ":1\r\n", "$"} {
			if got := (&network.Replies{}).Next([]byte(reply + rest)); got != len(reply) {
				t.Errorf("%q of %q: %d, want %d", reply, reply+rest, got, len(reply))
			}
		}
		for i := range len(reply) {
			if got := (&network.Replies{}).Next([]byte(reply[:i])); got != 0 {
				t.Errorf("%q, which is not complete: %d", reply[:i], got)
			}
		}
	}
}
