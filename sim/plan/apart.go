package plan

import "fmt"

// Apart returns a copy of the plan in which every thread is a client of its own; the first of each
// client keeps its name, and with it its faults. It is for locks of which no command tells which of a
// client's threads it is for.
func (p *Plan) Apart() *Plan {
	c := *p
	c.Clients = nil
	names := map[string]bool{}
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
		}
		if len(client.Threads) == 0 {
			c.Clients = append(c.Clients, client)
		}
	}
	return &c
}
