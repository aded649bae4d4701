package plan

import (
	"fmt"
	"slices"
)

// Apart returns a copy of the plan in which every thread is a client of its own; the first of each
// client keeps its name, and with it its faults. A fault that waits for a step of the protocol goes to the thread that
// takes it most often. It is for locks of which no command tells which of a client's threads it is for.
func (p *Plan) Apart() *Plan {
	c := *p
	c.Clients = nil
	names := map[string]bool{}
	parts := map[string][]string{} // of each client, by its name
	for _, client := range p.Clients {
		names[client.Name] = true
	}
	for _, client := range p.Clients {
		for i, thread := range client.Threads {
			one := client
			one.Threads = []Thread{thread}
			if i > 0 {
				one.Name = fmt.Sprintf("%s-%d", client.Name, thread.ID)
				for names[one.Name] {
					one.Name += "x"
				}
				names[one.Name] = true
			}
			c.Clients = append(c.Clients, one)
			parts[client.Name] = append(parts[client.Name], one.Name)
		}
		if len(client.Threads) == 0 {
			c.Clients = append(c.Clients, client)
		}
	}
	c.Faults = slices.Clone(p.Faults)
	for i := range c.Faults {
		f := &c.Faults[i]
		if t := f.Trigger(); f.When != nil && len(parts[t.Client]) > 1 {
			whole, most := t.Client, 0
			for _, name := range parts[whole] {
				part := f.Trigger()
				part.Client = name
				if n := c.occurs(part); n > most {
					t.Client, most = name, n
				}
			}
			if t.Return != "" {
				t.Nth = min(t.Nth, max(most, 1))
			}
			if f.When = &t; f.Client == whole {
				f.Client = t.Client
			}
		}
	}
	return &c
}
