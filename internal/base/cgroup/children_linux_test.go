package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestMemoryOfChildren(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for name, text := range map[string]string{
		"pod/one/memory.max": "100\n", "pod/two/memory.max": "30\n", "pod/pod/memory.max": "max\n",
		"open/one/memory.max": "100\n", "open/two/memory.max": "max\n",
		"odd/one/memory.max": "many\n", "none/memory.max": "max\n",
		"memory/pod/one/memory.limit_in_bytes": "100\n", "memory/open/one/memory.limit_in_bytes": "9223372036854771712\n",
	} {
		write(name, text)
		write(filepath.Join(filepath.Dir(name), "cgroup.procs"), "7\n")
	}
	write("pod/ended/memory.max", "1000\n") // nothing runs there
	write("pod/ended/cgroup.procs", "")

	v2 := []Hierarchy{{Dir: dir, V2: true}}
	v1 := []Hierarchy{{Dir: filepath.Join(dir, "pids")}, {Dir: filepath.Join(dir, "memory")}}
	for _, tt := range []struct {
		name string
		all  []Hierarchy
		want int64
	}{
		{"/pod", v2, 137},
		{"/open", v2, noLimit},
		{"/none", v2, 0},
		{"/odd", v2, -1},
		{"/gone", v2, -1},
		{"/pod", v1, 100},
		{"/open", v1, noLimit},
	} {
		got, err := memoryOfChildren(tt.all, tt.name, 7)
		if err != nil {
			got = -1
		}
		if got != tt.want {
			t.Errorf("%s (v2: %t): %d, want %d (%v)", tt.name, tt.all[0].V2, got, tt.want, err)
		}
	}

	if _, err := memoryOfChildren(v1[:1], "/pod", 7); !errors.Is(err, ErrNoController) {
		t.Errorf("without the controller: %v", err)
	}
}
