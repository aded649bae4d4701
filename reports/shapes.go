package reports

// shape says how a kind of item is drawn and where in its lane.
type shape struct {
	Form string `json:"form"` // bar, ramp, tick, sym
	Y    int    `json:"y"`    // from the lane's top; of a sym its middle
	H    int    `json:"h"`    // 0: as high as the lane
	Says string `json:"says"` // what it means, in words
}

// shapes are all kinds of items. A new one also wants a look in web/style.css (.k-NAME), and a sym its
// drawing in web/timeline.tmpl (#s-NAME).
var shapes = map[string]shape{
	// in an owner's lane
	"wait":    {"bar", 21, 6, "waits for the lock"},
	"held":    {"bar", 14, 20, "holds the lock"},
	"doubt":   {"bar", 14, 20, "believes that it holds the lock, but the server disagrees"},
	"nested":  {"bar", 29, 5, "holds it more than once"},
	"call":    {"bar", 21, 6, "another call"},
	"beat":    {"tick", 36, 7, "renewal"},
	"queue":   {"bar", 21, 6, "waits for permits"},
	"await":   {"bar", 21, 6, "waits for a count of 0"},
	"permits": {"bar", 14, 20, "has permits"},
	"refused": {"sym", 24, 14, "refused: not the holder"},
	"failed":  {"sym", 24, 14, "failed"},
	"unknown": {"sym", 24, 14, "outcome unknown to the client"},
	"lost":    {"sym", 24, 14, "told that its hold is over"},
	"died":    {"sym", 24, 14, "the client died"},
	"read":    {"sym", 8, 8, "reads the resource"},
	"write":   {"sym", 8, 8, "writes the resource"},
	// in a lock's lane
	"ramp":    {"ramp", 10, 54, "the key's time to live, running down"},
	"forever": {"ramp", 10, 54, "the key never expires"},
	"owns":    {"bar", 68, 16, "the owner, as the server has it"},
	"renew":   {"tick", 3, 10, "renewal"},
	"denied":  {"sym", 8, 10, "a renewal that changed nothing"},
	"expire":  {"sym", 64, 14, "the key expired"},
	"delete":  {"sym", 64, 14, "the key was removed from outside"},
	// in a semaphore's lane
	"free": {"bar", 14, 20, "permits that are free"},
	// in a latch's lane
	"left": {"bar", 14, 20, "count-downs that are left"},
	// in a group's lane, and in those of its members
	"quorum": {"bar", 10, 20, "holds as many members as it needs"},
	"part":   {"bar", 17, 6, "holds too few members"},
	"member": {"ramp", 3, 20, "a member's time to live, on its server"},
	"kept":   {"ramp", 3, 20, "a member that never expires"},
	// in the lane of a server's process
	"master":  {"bar", 13, 15, "is the master"},
	"replica": {"bar", 13, 15, "is a replica"},
	// of a server, in the lanes of its locks and of its processes
	"down":     {"bar", 0, 0, "the server is down"},
	"promoted": {"tick", 0, 0, "the server dies, and a replica becomes the master"},
	// in both
	"fault":  {"bar", 0, 0, "fault"},
	"strike": {"tick", 0, 0, "fault, in one blow"},
}

// legendOrder lists the kinds that the legend explains, if they occur.
var legendOrder = []string{"wait", "held", "nested", "doubt", "queue", "permits", "free", "await", "left", "quorum", "part", "member", "kept", "master", "replica", "read", "write", "ramp", "forever", "renew", "denied",
	"refused", "failed", "unknown", "lost", "expire", "delete", "died", "down", "promoted", "fault", "strike"}

// legendEntry explains one kind.
type legendEntry struct{ Kind, Form, Says string }

// Legend explains the kinds that occur in the picture.
func (p *picture) Legend() []legendEntry {
	occurs := make(map[string]bool)
	for _, l := range p.Lanes {
		for _, it := range l.Items {
			occurs[it.Kind] = true
		}
	}
	var es []legendEntry
	for _, k := range legendOrder {
		if occurs[k] {
			es = append(es, legendEntry{k, shapes[k].Form, shapes[k].Says})
		}
	}
	return es
}
