package reports

import (
	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
)

// momentsShown is how many moments the page and the terminal tell if they are asked for all. What is beyond is in history.jsonl.
const momentsShown = 500

// whole is a page's story with all that a run has to tell. Those that the verdict left out are folded away at first, and have no
// number. n is how many moments there are then, or 0 if the verdict left out none.
func (p *page) whole(h *history.History, v *checker.Verdict, c *cast) (n int) {
	all := checker.Retell(h, v, momentsShown)
	if len(all) <= len(v.Story) {
		return 0
	}
	short := p.Story
	var story []momentView
	for _, m := range all {
		view := viewMoment(m, c)
		if len(short) > 0 && short[0].At == m.At && short[0].Who == view.Who && short[0].Text == view.Text {
			view, short = short[0], short[1:]
		} else {
			view.Less = true
		}
		story = append(story, view)
	}
	if len(short) != 1 { // all but how many were left out: an older program told the run otherwise
		return 0
	}
	short[0].Rest = true
	p.Story = append(story, short[0])
	return len(all)
}

func viewMoment(m checker.Moment, c *cast) momentView {
	return momentView{At: m.At, Who: name(m.Who), Text: unbroken(flat(m.Text)), Color: c.color(m.Who), Weight: string(m.Weight)}
}
