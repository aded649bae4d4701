package external

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
)

// The test binary is also every worker that the tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "as-worker" {
		asWorker(strings.Join(os.Args[2:], " "))
		os.Exit(0)
	}
	if len(os.Args) == 3 && os.Args[1] == "as-harness" {
		asHarness(os.Args[2])
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else every worker lingers for a second
	os.Exit(m.Run())
}

// worker is the command of a worker in this test binary.
func worker(name string) string { return os.Args[0] + " as-worker " + name }

func asWorker(name string) {
	if bend, ok := bends[name]; ok {
		_ = Serve(os.Stdin, os.Stdout, bentBy(bend), "1")
		return
	}
	if say, ok := liars[name]; ok {
		_ = Serve(os.Stdin, &editor{out: os.Stdout, edit: say}, reference(), "1")
		return
	}
	if s, ok := bentObjectBy(name); ok {
		_ = Serve(os.Stdin, os.Stdout, s, "1")
		return
	}
	name, arg, _ := strings.Cut(name, "@")
	others[name](arg)
}

// asHarness opens a worker, says which process it is, and does not end by itself.
func asHarness(url string) {
	s, err := Subject(context.Background(), Prefix+worker("good"))
	if err != nil {
		panic(err)
	}
	c, err := s.Open(envOf(url, time.Second, func(err error) { panic(err) }))
	if err != nil {
		panic(err)
	}
	p := c.(*client)
	if err := p.Pause(); err != nil { // so that it cannot notice the end of its input
		panic(err)
	}
	fmt.Println(p.p.cmd.Process.Pid)
	time.Sleep(time.Hour)
}

func reference() subjects.Subject {
	s, _ := subjects.Find("rlock-hardened")
	return s
}

// editor changes the lines of a good worker: the first is its hello, the second its answer to start,
// the third and on those to calls.
type editor struct {
	out  io.Writer
	line int
	edit func(line int, text string) string
}

func (e *editor) Write(b []byte) (int, error) {
	e.line++
	_, err := io.WriteString(e.out, e.edit(e.line, string(b)))
	return len(b), err
}

// replacing replaces the text of one line by another.
func replacing(line int, by string) func(int, string) string {
	return func(n int, text string) string {
		if n == line {
			return by
		}
		return text
	}
}

// in replaces part of a line.
func in(line int, old, by string) func(int, string) string {
	return func(n int, text string) string {
		if n == line {
			if !strings.Contains(text, old) {
				panic(text)
			}
			return strings.Replace(text, old, by, 1)
		}
		return text
	}
}

// liars break the protocol in a line that they write.
var liars = map[string]func(line int, text string) string{
	"garbage hello":      replacing(1, "Hello, world!\n"),
	"no hello":           replacing(1, `{"id":1,"outcome":"ok"}`+"\n"),
	"old hello":          in(1, `"hello":2`, `"hello":7`),
	"nameless":           in(1, `"name":"rlock-hardened"`, `"name":""`),
	"boastful":           in(1, `"fencing"`, `"immortality"`),
	"half a claim":       in(1, `"idempotent",`, ""),
	"no queue":           in(1, `"idempotent",`, `"idempotent","fair",`),
	"an idle queue":      in(1, `"hello":2`, `"hello":2,"queue":{"key":"queue:*","kept":1000}`),
	"two times":          in(1, `"abilities":[`, `"queue":{"key":"queue:*","kept":1000,"keptPart":0.5},"abilities":["fair",`),
	"a part below 0":     in(1, `"abilities":[`, `"queue":{"key":"queue:*","kept":1000,"keptPart":-0.5},"abilities":["fair",`),
	"no time":            in(1, `"abilities":[`, `"queue":{"key":"queue:*"},"abilities":["fair",`),
	"one queue for all":  in(1, `"hello":2`, `"hello":2,"queue":{"key":"queue","kept":1000}`),
	"a strange object":   in(1, `"hello":2`, `"hello":2,"object":"queue"`),
	"no timeout":         in(1, `"hello":2`, `"hello":2,"answerTimeout":-1`),
	"an endless timeout": in(1, `"hello":2`, `"hello":2,"answerTimeout":3600000000001`),
	"an old timeout":     in(1, `"hello":2`, `"hello":1,"answerTimeout":1000`),
	"an old object":      in(1, `"hello":2`, `"hello":1,"object":"semaphore"`),
	"no round":           in(1, `"idempotent",`, `"idempotent","rounds",`),
	"an idle round":      in(1, `"hello":2`, `"hello":2,"round":"round:*"`),
	"one round for all":  in(1, `"idempotent",`, `"idempotent","rounds"],"round":"round","abilities":["idempotent","rounds",`),
	"a lock's taken":     in(1, `"hello":2`, `"hello":2,"taken":"*:taken"`),
	"one taken for all":  in(1, `"hello":2`, `"hello":2,"object":"permit semaphore","taken":"taken"`),
	"two clocks":         in(1, `"abilities":[`, `"object":"permit semaphore","taken":"*:taken","abilities":["server-clock",`),
	"two keys in one":    in(1, `"abilities":[`, `"object":"permit semaphore","taken":"*:taken","abilities":["one-key",`),
	"a lock with an id":  in(3, `"outcome"`, `"permit":"p1","outcome"`),
	"garbage":            replacing(3, "acquired!\n"),
	"long garbage":       replacing(3, strings.Repeat("blah ", 1000)+"\n"),
	"two values":         in(3, "\n", " {}\n"),
	"misspelt":           in(3, `"token"`, `"tokne"`),
	"a number for words": in(3, `"acquired"`, `1`),
	"empty":              replacing(3, "{}\n"),
	"second hello":       replacing(3, `{"hello":1,"name":"x","version":"1"}`+"\n"),
	"endless line":       replacing(3, strings.Repeat("x", longestLine+1)),
	"wrong outcome":      in(3, `"acquired"`, `"released"`),
	"invented outcome":   in(3, `"acquired"`, `"granted"`),
	"no token":           replacing(3, `{"id":2,"outcome":"acquired"}`+"\n"),
	"unknown id":         in(3, `"id":2`, `"id":99`),
	"negative id":        in(3, `"id":2`, `"id":-2`),
	"twice": func(line int, text string) string {
		if line == 3 {
			return text + text
		}
		return text
	},
	"half a line": func(line int, text string) string {
		if line == 3 {
			os.Stdout.WriteString(text[:10])
			os.Exit(0)
		}
		return text
	},
	"lost, unclaimed": func(line int, text string) string {
		switch line {
		case 1:
			return strings.Replace(text, `"lost",`, "", 1)
		case 3:
			return `{"lost":"l","owner":"c1:1"}` + "\n"
		}
		return text
	},
}

// others are workers that go wrong in other ways.
var others = map[string]func(arg string){
	"silent": func(string) { time.Sleep(time.Hour) },
	"dead":   func(string) { fmt.Fprintln(os.Stderr, "no such luck"); os.Exit(3) },
	"refuses": func(string) {
		said(`{"id":1,"outcome":"failed","error":"no Redis for me"}`)
		io.Copy(io.Discard, os.Stdin)
	},
	"dies when called": func(string) {
		said(`{"id":1,"outcome":"ok"}`)
		heard()
		panic("out of cheese")
	},
	"floods stderr": func(string) {
		said(`{"id":1,"outcome":"ok"}`)
		heard()
		flood := bytes.Repeat([]byte("noise\n"), 1<<16)
		for range 50 {
			os.Stderr.Write(flood)
		}
		fmt.Fprintln(os.Stderr, "the end")
		os.Exit(4)
	},
	"has a child": func(string) {
		child := exec.Command("sleep", "1000")
		if err := child.Start(); err != nil {
			panic(err)
		}
		fmt.Printf(`{"hello":1,"name":"%d","version":"1"}`+"\n", child.Process.Pid)
		heard()
	},
	"tells secrets": func(string) {
		said(`{"id":1,"outcome":"ok"}`)
		heard()
		fmt.Println(`{"id":2,"outcome":"failed","error":"no redis://me:p%40ss@127.0.0.1:1/0 for p@ss"}`)
		fmt.Fprintln(os.Stderr, "p@ss")
		fmt.Println("p%40ss")
	},
	"prompt": func(string) {
		fmt.Println(`{"hello":1,"name":"x","version":"1","abilities":["inspect"]}`)
		for id := 1; heard(); id++ {
			fmt.Printf(`{"id":%d,"outcome":"ok"}`+"\n", id)
		}
	},
	"listed": func(name string) {
		s, _ := libraries.Find(name)
		if err := Serve(os.Stdin, os.Stdout, s, "1"); err != nil {
			panic(err)
		}
	},
	"repeats start": func(version string) {
		fmt.Printf(`{"hello":%s,"name":"x","version":"1"}`+"\n", version)
		line, err := stdin.ReadString('\n')
		if err != nil { // who only wanted to know its name has gone
			return
		}
		fmt.Printf(`{"id":1,"outcome":"failed","error":%q}`+"\n", strings.TrimSpace(line))
		heard()
	},
	"names its owners":      func(string) { starts(2, `"owners":{"c1:1":"u:47"}`) },
	"names a stranger":      func(string) { starts(2, `"owners":{"c2:1":"u:47"}`) },
	"names nobody":          func(string) { starts(2, `"owners":{"c1:1":""}`) },
	"names two alike":       func(string) { starts(2, `"owners":{"c1:1":"u","c1:2":"u"}`) },
	"names owners too soon": func(string) { starts(1, `"owners":{"c1:1":"u:47"}`) },
	"unlocks too soon": func(string) {
		said(`{"id":1,"outcome":"ok"}`)
		for id := 2; heard(); id++ {
			fmt.Printf(`{"id":%d,"outcome":"unlocked"}`+"\n", id)
		}
	},
	"mute": func(string) { said(`{"id":1,"outcome":"ok"}`); io.Copy(io.Discard, os.Stdin) },
	"closes its output": func(string) {
		said(`{"id":1,"outcome":"ok"}`)
		heard()
		os.Stdout.Close()
		time.Sleep(time.Hour)
	},
	"closes its input": func(string) {
		said("")
		os.Stdin.Close()
		fmt.Println(`{"id":1,"outcome":"ok"}`)
		time.Sleep(time.Hour)
	},
	"does not start": func(string) { said(""); time.Sleep(time.Hour) },
	"does not end":   func(string) { _ = Serve(os.Stdin, os.Stdout, reference(), "1"); time.Sleep(time.Hour) },
	"fickle": func(seen string) {
		if _, err := os.Stat(seen); err != nil {
			_ = os.WriteFile(seen, nil, 0o666)
			said("")
			return
		}
		fmt.Println(`{"hello":1,"name":"x","version":"1","abilities":["force"]}`)
		heard()
	},
}

// starts says hello in a version, and answers start with that field, and a call with what it cannot have.
func starts(version int, field string) {
	fmt.Printf(`{"hello":%d,"name":"x","version":"1"}`+"\n", version)
	if heard() {
		fmt.Printf(`{"id":1,"outcome":"ok",%s}`+"\n", field)
		heard()
	}
}

// said says hello, hears start, and answers.
func said(answer string) {
	fmt.Println(`{"hello":1,"name":"x","version":"1"}`)
	if !heard() {
		os.Exit(0) // it was only to say hello
	}
	if answer != "" {
		fmt.Println(answer)
	}
}

var stdin = bufio.NewReader(os.Stdin)

// heard reads a line.
func heard() bool {
	_, err := stdin.ReadSlice('\n')
	return err == nil
}
