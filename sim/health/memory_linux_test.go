package health

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A tree of files like that of a kernel.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestLimitsOfCgroups(t *testing.T) {
	for _, tt := range []struct {
		name, groups string
		files        map[string]string
		want         string // left of most, of each group that has a limit
	}{
		{"version 2, the group and the one around it", "0::/a/b\n", map[string]string{
			"a/b/memory.max": "1000\n", "a/b/memory.current": "700\n", "a/b/memory.stat": "anon 500\nactive_file 50\ninactive_file 150\n",
			"a/memory.max": "900\n", "a/memory.current": "850\n"}, "450/1000 50/900"},
		{"version 2 without a limit", "0::/a\n", map[string]string{"a/memory.max": "max\n", "a/memory.current": "700\n"}, ""},
		{"version 2 in a container", "0::/\n", map[string]string{"memory.max": "1000\n", "memory.current": "700\n"}, "300/1000"},
		{"version 1", "5:cpu:/x\n4:memory:/a\n0::/a\n", map[string]string{
			"memory/a/memory.limit_in_bytes": "1000\n", "memory/a/memory.usage_in_bytes": "800\n", "memory/a/memory.stat": "total_inactive_file 100\n",
			"memory/memory.limit_in_bytes": "9223372036854771712\n", "memory/memory.usage_in_bytes": "800\n"}, "300/1000"},
		{"version 1 in a container, whose group is not there", "4:memory,cpu:/docker/1\n", map[string]string{
			"memory/memory.limit_in_bytes": "1000\n", "memory/memory.usage_in_bytes": "1200\n"}, "0/1000"},
		{"nonsense", "x\n1:2\n0::/../../etc\n", map[string]string{"etc/memory.max": "none\n"}, ""},
	} {
		got := ""
		for _, s := range cgroups(tree(t, tt.files), tt.groups) {
			if got != "" {
				got += " "
			}
			got += fmt.Sprintf("%d/%d", s.left, s.most)
		}
		if got != tt.want {
			t.Errorf("%s: %q, not %q", tt.name, got, tt.want)
		}
	}
}

func TestMemoryOfTheMachine(t *testing.T) {
	root := tree(t, map[string]string{"meminfo": "MemTotal:       1000 kB\nMemFree:  3 kB\nMemAvailable:    200 kB\nSwapFree:   10 kB\n", "other": "MemTotal: 5 kB\n"})
	if got := machine(root + "/meminfo"); len(got) != 1 || got[0].left != 210<<10 || got[0].most != 1000<<10 {
		t.Errorf("%+v", got)
	}
	for _, name := range []string{"/other", "/none"} {
		if got := machine(root + name); got != nil { // nobody knows
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func BenchmarkLook(b *testing.B) {
	for b.Loop() {
		memory()
	}
}
