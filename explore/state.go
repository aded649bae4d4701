package explore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// State is the file in which a search keeps what it has done, so that it can go on after it was
// killed. The first line is the configuration, each other one a shard with its report. A line is
// written at once, and half of one, which a killed process may leave, is dropped.
type State struct {
	Done map[string]Report // by shard
	file *os.File
}

type stateLine struct {
	Config *Config `json:"config,omitempty"` // of the first line
	Shard  *Shard  `json:"shard,omitempty"`
	Report *Report `json:"report,omitempty"`
}

// OpenState opens or makes the state file of a configuration. Only one process may use it at once.
func OpenState(name string, c Config) (*State, error) {
	s := &State{Done: map[string]Report{}}
	b, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	whole := bytes.LastIndexByte(b, '\n') + 1
	if err := s.read(name, b[:whole], c); err != nil {
		return nil, err
	}
	if s.file, err = os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666); err != nil {
		return nil, err
	}
	if err = s.file.Truncate(int64(whole)); err == nil && whole == 0 {
		err = s.write(stateLine{Config: &c})
	}
	if err != nil {
		s.file.Close()
		return nil, err
	}
	return s, nil
}

func (s *State) read(name string, b []byte, c Config) error {
	n := 0
	for line := range bytes.Lines(b) {
		n++
		var l stateLine
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("%s: line %d: %w", name, n, err)
		}
		switch {
		case n == 1 && (l.Config == nil || l.Config.Key() != c.Key()):
			return fmt.Errorf("%s: line 1: it is of another search; name another folder, or remove it", name)
		case n == 1:
		case l.Shard == nil || l.Report == nil:
			return fmt.Errorf("%s: line %d: must have a shard and its report", name, n)
		default:
			s.Done[l.Shard.ID()] = *l.Report
		}
	}
	return nil
}

// Append keeps a shard's report.
func (s *State) Append(shard Shard, r Report) error {
	shard.Config = Config{}
	return s.write(stateLine{Shard: &shard, Report: &r})
}

func (s *State) write(l stateLine) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = s.file.Write(append(b, '\n'))
	return err
}

// Close closes the file.
func (s *State) Close() error { return s.file.Close() }
