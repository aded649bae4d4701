package explore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/holdfast-sim/holdfast/reports"
)

// State is the file in which a search keeps what it has done, so that it can go on after it was
// killed. The first line is the configuration, each other one a shard with its report. A line is
// written at once, and half of one, which a killed process may leave, is dropped. Now and then shards that follow each
// other are put together to blocks, so that the file stays small.
type State struct {
	Done map[string]Report // by shard; what was done before the file was opened

	name   string
	config Config
	file   *os.File
	lock   io.Closer
	loose  int // shards that were written and not yet put together
}

// blockShards is how many shards make a block, and blockSamples how many of their runs keep a place on the page.
const (
	blockShards  = 400
	blockRuns    = blockShards * ShardRuns
	blockSamples = 5
)

// ErrOther is what is wrong with the state of a search that has another configuration.
var ErrOther = errors.New("its lock, strategy, bounds or version are others")

type stateLine struct {
	Config *Config `json:"config,omitempty"` // of the first line
	Shard  *Shard  `json:"shard,omitempty"`
	Report *Report `json:"report,omitempty"`
}

// OpenState opens or makes the state file of a configuration; fresh forgets what was done. The file is in a folder of its own, which
// one search at a time can have: for another it is an error.
func OpenState(name string, c Config, fresh bool) (*State, error) {
	lock, err := lockFolder(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	s := &State{name: name, config: c, lock: lock}
	if fresh {
		if err = os.Remove(name); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil {
		err = s.compact()
	}
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// ReadState returns what the search with that state file had done, and leaves the file as it is: another search may be at it. The
// error says so if it is of another configuration.
func ReadState(name string, c Config) ([]Report, error) {
	if _, err := os.Stat(name); err != nil {
		return nil, err
	}
	lines, err := (&State{name: name, config: c}).read()
	if err != nil {
		return nil, err
	}
	var all []Report
	for _, l := range lines {
		all = append(all, *l.Report)
	}
	return all, nil
}

// compact reads the file, puts shards together, and writes it anew: whole or not at all.
func (s *State) compact() error {
	lines, err := s.read()
	if err != nil {
		return err
	}
	lines = inBlocks(lines)
	if s.Done == nil { // those of later are known to who did them
		s.Done = map[string]Report{}
		for _, l := range lines {
			s.Done[l.Shard.ID()] = *l.Report
		}
	}
	if err := s.write(lines); err != nil {
		return err
	}
	s.loose = 0
	s.file, err = os.OpenFile(s.name, os.O_WRONLY|os.O_APPEND, 0)
	return err
}

// read returns the lines of the file but the first, as long as they are whole.
func (s *State) read() (lines []stateLine, err error) {
	b, err := os.ReadFile(s.name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	n := 0
	for line := range bytes.Lines(b) {
		n++
		var l stateLine
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", s.name, n, err)
		}
		switch {
		case n == 1 && (l.Config == nil || l.Config.Key() != s.config.Key()):
			return nil, fmt.Errorf("%s: line 1: it is of another search; name another folder, or remove it: %w", s.name, ErrOther)
		case n == 1:
		case l.Shard == nil || l.Report == nil:
			return nil, fmt.Errorf("%s: line %d: must have a shard and its report", s.name, n)
		default:
			lines = append(lines, l)
		}
	}
	return lines, nil
}

// inBlocks puts as many drawn shards as make a block together, where they follow each other.
func inBlocks(lines []stateLine) []stateLine {
	var rest, drawn, chain []stateLine
	for _, l := range lines {
		if len(l.Shard.Faults) > 0 || l.Shard.Runs != ShardRuns || len(l.Report.Next) > 0 {
			rest = append(rest, l)
		} else {
			drawn = append(drawn, l)
		}
	}
	slices.SortFunc(drawn, func(a, b stateLine) int {
		if a.Shard.From < b.Shard.From {
			return -1
		}
		return 1
	})
	for _, l := range drawn {
		if n := len(chain); n > 0 && chain[n-1].Shard.From+ShardRuns != l.Shard.From {
			rest, chain = append(rest, chain...), nil
		}
		if chain = append(chain, l); len(chain) == blockShards {
			rest, chain = append(rest, block(chain)), nil
		}
	}
	return append(rest, chain...)
}

func block(chain []stateLine) stateLine {
	var all []Report
	for _, l := range chain {
		all = append(all, *l.Report)
	}
	whole := Sum(all).Whole()
	// Those that have found something first.
	slices.SortStableFunc(whole.Samples, func(a, b reports.Summary) int { return b.Verdict.Code() - a.Verdict.Code() })
	whole.Samples = whole.Samples[:min(len(whole.Samples), blockSamples)]
	return stateLine{Shard: &Shard{From: chain[0].Shard.From, Runs: blockRuns}, Report: &whole}
}

// Append keeps a shard's report.
func (s *State) Append(shard Shard, r Report) error {
	shard.Config = Config{}
	if err := encode(s.file, stateLine{Shard: &shard, Report: &r}); err != nil {
		return err
	}
	if s.loose++; s.loose < 2*blockShards {
		return nil
	}
	return s.compact()
}

func encode(w io.Writer, l stateLine) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// Close closes the file.
func (s *State) Close() error {
	err := s.lock.Close()
	if s.file != nil {
		err = errors.Join(err, s.file.Close())
	}
	return err
}
