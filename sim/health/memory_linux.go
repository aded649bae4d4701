package health

import (
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// memory is what limits the memory of this process.
func memory() []supply {
	all := append(goLimit(), limits()...)
	all = append(all, machine("/proc/meminfo")...)
	groups, _ := os.ReadFile("/proc/self/cgroup")
	return append(all, cgroups("/sys/fs/cgroup", string(groups))...)
}

// machine is what the whole machine has, by a file like /proc/meminfo.
func machine(file string) []supply {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	info := numbers(strings.ReplaceAll(string(b), ":", " "))
	if info["MemTotal"] == 0 || info["MemAvailable"] == 0 {
		return nil
	}
	total := info["MemTotal"] << 10
	return []supply{{left: (info["MemAvailable"] + info["SwapFree"]) << 10, most: total, of: "the " + Size(total) + " of this machine"}}
}

// numbers reads lines of a name and a number.
func numbers(text string) map[string]uint64 {
	found := map[string]uint64{}
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 1 {
			found[fields[0]], _ = strconv.ParseUint(fields[1], 10, 64)
		}
	}
	return found
}

// arena is by how much Go's runtime extends its heap.
const arena = 64 << 20

// limits are those of the process: on its address space, and on its data. What the runtime has reserved and does not use is free.
func limits() []supply {
	b, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(b))
	if err != nil || len(fields) < 6 {
		return nil
	}
	free := measured("/memory/classes/heap/free:bytes", "/memory/classes/heap/released:bytes")
	var all []supply
	for _, l := range []struct {
		resource, field int
		name            string
	}{{syscall.RLIMIT_AS, 0, "address space (ulimit -v)"}, {syscall.RLIMIT_DATA, 5, "data (ulimit -d)"}} {
		most := limit(l.resource)
		pages, err := strconv.ParseUint(fields[l.field], 10, 64)
		if most >= unlimited || err != nil {
			continue
		}
		used := pages * uint64(os.Getpagesize())
		all = append(all, supply{left: most - min(used, most) + free, most: most, spare: arena, of: "the " + Size(most) + " of " + l.name})
	}
	return all
}

// cgroups are the limits of the groups that a process is in, and of those around them, of both versions. mount is where they are; groups
// is a text like /proc/self/cgroup.
func cgroups(mount, groups string) []supply {
	var all []supply
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		var most, used, stat string
		root := mount
		switch {
		case parts[1] == "": // version 2
			most, used, stat = "memory.max", "memory.current", "inactive_file"
		case strings.Contains(","+parts[1]+",", ",memory,"):
			most, used, stat = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
			root = path.Join(mount, "memory")
		default:
			continue
		}
		// In a container the group's name may be that outside of it: what is not there is passed over.
		for group := path.Join("/", parts[2]); ; group = path.Dir(group) {
			if s, ok := cgroup(path.Join(root, group), most, used, stat); ok {
				all = append(all, s)
			}
			if group == "/" {
				break
			}
		}
	}
	return all
}

// cgroup is the limit of one group, if it has one. Pages of files that nobody uses are given back before anybody goes without.
func cgroup(dir, most, used, stat string) (s supply, ok bool) {
	limit, ok := number(path.Join(dir, most))
	if !ok || limit >= unlimited {
		return s, false
	}
	use, ok := number(path.Join(dir, used))
	if !ok {
		return s, false
	}
	if b, err := os.ReadFile(path.Join(dir, "memory.stat")); err == nil {
		use -= min(use, numbers(string(b))[stat])
	}
	return supply{left: limit - min(use, limit), most: limit, of: "the " + Size(limit) + " of its cgroup"}, true
}

// number reads a file with one number. "max" is none.
func number(file string) (uint64, bool) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}
