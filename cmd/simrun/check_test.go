package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history/formats"
)

// Two owners have one lock in turn, and the first takes it once more.
const inTurn = `{:process 0, :type :invoke, :f :acquire, :time 1}
{:process 0, :type :ok, :f :acquire, :time 2}
{:process 0, :type :invoke, :f :release, :time 3}
{:process 0, :type :ok, :f :release, :time 4}
{:process 2, :type :invoke, :f :acquire, :time 5}
{:process 2, :type :ok, :f :acquire, :time 6}
{:process 2, :type :invoke, :f :release, :time 7}
{:process 2, :type :ok, :f :release, :time 8}
{:process 0, :type :invoke, :f :acquire, :time 11}
{:process 0, :type :ok, :f :acquire, :time 15}
`

// Two owners are told that they got one lock, among much that is in order.
const twoHolders = inTurn + `{:process 1, :type :invoke, :f :acquire, :time 16}
{:process 1, :type :ok, :f :acquire, :time 18}
{:process 0, :type :invoke, :f :release, :time 23}
{:process 0, :type :ok, :f :release, :time 24}
`

func TestCheckJudgesWhatOthersRecorded(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "jepsen.edn")
	if err := os.WriteFile(file, []byte(twoHolders), 0o666); err != nil {
		t.Fatal(err)
	}
	small := filepath.Join(dir, "small.jsonl")
	stdout, stderr, code := run(t, dir, "check", "-model", "mutex", "-shrink", small, file)
	if code != checker.ExitUnexpected || stderr != "" || !strings.Contains(stdout, "object is broken") && !strings.Contains(stdout, "object and exclusion are broken") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	h, err := formats.Open(t.Context(), small, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Ops) != 2 {
		t.Errorf("two operations show it, the smallest history has %d: %+v", len(h.Ops), h.Ops)
	}
	if _, _, code := run(t, dir, "check", "-model", "mutex", small); code != checker.ExitUnexpected {
		t.Errorf("the smallest history is judged %d", code)
	}
}

// A run's folder is judged with the server log; its history alone, without; both say the same here.
func TestCheckJudgesAStoredRunAgain(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "-scenario", "watchdog-death")
	stored := filepath.Join("simrun-out", "watchdog-death", "latest")
	for _, path := range []string{stored, filepath.Join(stored, "history.jsonl")} {
		stdout, stderr, code := run(t, dir, "check", path)
		if code != 0 || stderr != "" || !strings.Contains(stdout, "REPRODUCED") {
			t.Errorf("%s: exit code %d, stderr %q, stdout:\n%s", path, code, stderr, stdout)
		}
	}
}

// A RedLock of three is granted while another owner has two of its members.
func TestCheckJudgesLocksThatAreMadeOfOthers(t *testing.T) {
	dir := t.TempDir()
	text := `{"record":"header","version":1,"clock":"monotonic","world":"w","subject":"s","seed":0,"groups":[{"name":"most","kind":"red","members":["r1","r2","r3"]}]}
`
	for i, lock := range []string{"r1", "r3", "most"} {
		text += fmt.Sprintf(`{"record":"op","id":%d,"client":"c%d","owner":"c%d:1","lock":%q,"kind":"lock","call":%d,"return":%d,"outcome":"acquired"}`+"\n",
			i+1, i/2, i/2, lock, 10*i+1, 10*i+5)
	}
	if err := os.WriteFile(filepath.Join(dir, "red.jsonl"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := run(t, dir, "check", "-model", "reentrant", "red.jsonl")
	if words := strings.Join(strings.Fields(stdout), " "); code != checker.ExitUnexpected || stderr != "" || !strings.Contains(words, "others hold 2, and a hold needs 2") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
}

func TestCheckRefusesWhatIsNoHistory(t *testing.T) {
	dir := t.TempDir()
	header := `{"record":"header","version":1,"clock":"virtual","world":"sim","subject":"s","seed":1}` + "\n"
	files := map[string]string{
		"garbage":   "hello\n",
		"backwards": header + `{"record":"op","id":1,"client":"c","owner":"c:1","lock":"l","kind":"lock","call":9,"return":3,"outcome":"acquired"}` + "\n",
		"overlap": header + `{"record":"op","id":1,"client":"c","owner":"c:1","lock":"l","kind":"lock","call":1,"return":9,"outcome":"acquired"}
{"record":"op","id":2,"client":"c","owner":"c:1","lock":"l","kind":"unlock","call":3,"return":5,"outcome":"released"}` + "\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"check", "say which histories"},
		{"check nowhere.jsonl", "no such file"},
		{"check garbage", "line 1: neither JSONL"},
		{"check backwards", "line 2: "},
		{"check overlap", "c:1"},
		{"check -model fence garbage", "fenced"},
		{"check -budget -1s garbage", "-budget"},
		{"check -records 0 overlap", "-records"},
		{"check -records 1 overlap", "overlap: line 3: too many records to keep in memory: -records 1 is the most"},
		{"check -shrink x garbage overlap", "one history"},
		{"check .", "there is no history.jsonl"},
	} {
		t.Run(c.args, func(t *testing.T) {
			stdout, stderr, code := run(t, dir, strings.Fields(c.args)...)
			if code != checker.ExitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}
