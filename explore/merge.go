package explore

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// ErrOverlap is what is wrong with states of which one has a part of a shard of another: what is in both cannot be told apart.
var ErrOverlap = errors.New("their shards overlap: searches that are to be put together begin with the same seed")

// ConfigOf returns the configuration of the search that a state file is of.
func ConfigOf(name string) (Config, error) {
	file, err := os.Open(name)
	if err != nil {
		return Config{}, err
	}
	defer file.Close()
	line, err := bufio.NewReader(file).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return Config{}, err
	}
	var l stateLine
	if err := json.Unmarshal(line, &l); err != nil || l.Config == nil {
		return Config{}, fmt.Errorf("%s: line 1: must have the configuration of a search", name)
	}
	return *l.Config, nil
}

// Merge puts the states of one search together in a file: each shard once, however many of them have it. A state that is there by that name is
// one of them. It returns the shards and their reports, by their first seeds. A state of another search, or that overlaps with others, is an error;
// then, and whenever there is one, the file stays as it was.
func Merge(to string, c Config, names ...string) ([]Shard, []Report, error) {
	lock, err := lockFolder(filepath.Dir(to))
	if err != nil {
		return nil, nil, err
	}
	defer lock.Close()
	var lines []stateLine
	for _, name := range append(slices.Clone(names), to) {
		if _, err := os.Stat(name); err != nil {
			if name == to && errors.Is(err, os.ErrNotExist) {
				continue
			}
			return nil, nil, err
		}
		some, err := (&State{name: name, config: c}).read()
		if err != nil {
			return nil, nil, err
		}
		lines = append(lines, some...)
	}
	if lines, err = once(lines); err != nil {
		return nil, nil, err
	}
	if err := (&State{name: to, config: c}).write(lines); err != nil {
		return nil, nil, err
	}
	var shards []Shard
	var reports []Report
	for _, l := range lines {
		shards, reports = append(shards, *l.Shard), append(reports, *l.Report)
	}
	return shards, reports, nil
}

// once returns lines without those that have no seed that another has not, in the order of their seeds.
func once(lines []stateLine) ([]stateLine, error) {
	slices.SortStableFunc(lines, func(a, b stateLine) int {
		return cmp.Or(cmp.Compare(a.Shard.From, b.Shard.From), cmp.Compare(b.Shard.Runs, a.Shard.Runs), cmp.Compare(a.Shard.ID(), b.Shard.ID()))
	})
	var left []stateLine
	seen, to := map[string]bool{}, uint64(0) // the first seed that none of them has
	for _, l := range lines {
		end := l.Shard.From + uint64(l.Shard.Runs)
		switch drawn := l.Shard.Runs > 0; {
		case seen[l.Shard.ID()], drawn && len(left) > 0 && end <= to:
			continue
		case drawn && len(left) > 0 && l.Shard.From < to:
			return nil, fmt.Errorf("seeds %d to %d: %w", l.Shard.From, to-1, ErrOverlap)
		}
		seen[l.Shard.ID()] = true
		left, to = append(left, l), max(to, end)
	}
	return left, nil
}

// write writes the file anew: whole or not at all.
func (s *State) write(lines []stateLine) error {
	var b bytes.Buffer
	err := encode(&b, stateLine{Config: &s.config})
	for _, l := range lines {
		err = errors.Join(err, encode(&b, l))
	}
	if err != nil {
		return err
	}
	temporary := filepath.Join(filepath.Dir(s.name), "."+filepath.Base(s.name))
	if err := os.WriteFile(temporary, b.Bytes(), 0o666); err != nil {
		_ = os.Remove(temporary)
		return err
	}
	if s.file != nil { // Windows renames no file that is open, and none onto one that is
		err = s.file.Close()
	}
	if err = errors.Join(err, os.Rename(temporary, s.name)); err != nil {
		_ = os.Remove(temporary)
	}
	return err
}
