package reports

import (
	"github.com/holdfast-sim/holdfast/checker"
)

// Long is what the report of a long run has instead of its whole history, which nobody could look
// at: how it went over time, and the part in which something broke first, if anything did.
type Long struct {
	// Window is the verdict on the history that the page is given, which is a part of the run; nil if
	// it is given none.
	Window  *checker.Verdict
	Numbers []Number
	Chart   *Panels
}

// Number is something that was counted.
type Number struct{ Name, Value string }

// longView is what the template sees of it.
type longView struct {
	Numbers []fact
	Chart   *panelsView
	Part    string // which part the picture shows; empty: there is none
}

func (l *Long) view() *longView {
	v := &longView{Chart: l.Chart.view()}
	for _, n := range l.Numbers {
		v.Numbers = append(v.Numbers, fact{Visible(n.Name), unbroken(Visible(n.Value))})
	}
	if l.Window != nil {
		v.Part = "The picture and the operations are those of the first part of the run in which something broke."
	}
	return v
}
