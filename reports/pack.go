package reports

import (
	"encoding/json"
	"slices"
	"time"
)

// items are what a lane shows. In a page they are columns: of a long run an item takes a quarter of the bytes that it would take as
// an object. Times are differences: a from the item before, b and d from a.
type items []item

// packed are items as the page's script gets them.
type packed struct {
	N     int      `json:"n"`
	Words []string `json:"w,omitempty"` // kinds, labels and tips, which are told by their places, from 1 on; 0: none
	Kind  figures  `json:"k,omitzero"`
	From  figures  `json:"a,omitzero"`
	To    figures  `json:"b,omitzero"`
	Color figures  `json:"o,omitzero"`
	Label figures  `json:"l,omitzero"`
	Tip   figures  `json:"t,omitzero"`
	Op    figures  `json:"op,omitzero"` // the difference to the item before
	Until figures  `json:"d,omitzero"`  // the deadline; 0: none
}

// figures are a column. One of the same number all along is written as that number, and as nothing if that is 0.
type figures []int64

func (f figures) same() bool { return !slices.ContainsFunc(f, func(n int64) bool { return n != f[0] }) }

// IsZero reports whether the column is left out.
func (f figures) IsZero() bool { return len(f) == 0 || f[0] == 0 && f.same() }

// MarshalJSON writes the column.
func (f figures) MarshalJSON() ([]byte, error) {
	if len(f) > 0 && f.same() {
		return json.Marshal(f[0])
	}
	return json.Marshal([]int64(f))
}

// MarshalJSON writes the items as columns.
func (its items) MarshalJSON() ([]byte, error) {
	p := packed{N: len(its)}
	places := map[string]int64{"": 0}
	word := func(s string) int64 {
		n, ok := places[s]
		if !ok {
			p.Words = append(p.Words, s)
			n = int64(len(p.Words))
			places[s] = n
		}
		return n
	}
	var before time.Duration
	var op int64
	for _, it := range its {
		p.Kind = append(p.Kind, word(it.Kind))
		p.From = append(p.From, int64(it.From-before))
		p.To = append(p.To, int64(it.To-it.From))
		p.Color = append(p.Color, int64(it.Color))
		p.Label = append(p.Label, word(it.Label))
		p.Tip = append(p.Tip, word(it.Tip))
		p.Op = append(p.Op, it.Op-op)
		until := int64(0)
		if it.Deadline != 0 {
			until = int64(it.Deadline - it.From)
		}
		p.Until = append(p.Until, until)
		before, op = it.From, it.Op
	}
	return json.Marshal(p)
}
