package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWithoutCollecting: compilers collect no garbage where there is memory for all of them, unless a person says how
// they do.
func TestWithoutCollecting(t *testing.T) {
	for name, test := range map[string]struct {
		environ    []string
		memory     uint64
		processors int
		want       []string
	}{
		"much":            {memory: 22 << 30, processors: 2, want: []string{"GOGC=off", "GOMEMLIMIT=2147483648"}},
		"some":            {memory: 15 << 30, processors: 4, want: []string{"GOGC=off", "GOMEMLIMIT=1610612736"}},
		"just_enough":     {memory: 6 << 30, processors: 2, want: []string{"GOGC=off", "GOMEMLIMIT=1073741824"}},
		"little":          {memory: 6<<30 - 1, processors: 2},
		"many_processors": {memory: 32 << 30, processors: 32},
		"unknown":         {memory: 0, processors: 2},
		"collector_set":   {environ: []string{"GOGC=200"}, memory: 64 << 30, processors: 2},
		"limit_set":       {environ: []string{"GOMEMLIMIT=1GiB"}, memory: 64 << 30, processors: 2},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, withoutCollecting(test.environ, test.memory, test.processors)); diff != "" {
				t.Errorf("variables (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFreeMemory: a container's limit counts where it is below what the machine has.
func TestFreeMemory(t *testing.T) {
	const meminfo, v1, v2 = "proc/meminfo", "sys/fs/cgroup/memory/memory.limit_in_bytes", "sys/fs/cgroup/memory.max"
	const machine = "MemTotal:       24679244 kB\nMemFree:         1048576 kB\nMemAvailable:    8388608 kB\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  uint64
	}{
		"machine":        {map[string]string{meminfo: machine}, 8 << 30},
		"no_limit":       {map[string]string{meminfo: machine, v1: "9223372036854771712\n", v2: "max\n"}, 8 << 30},
		"limit_v1":       {map[string]string{meminfo: machine, v1: "4294967296\n"}, 4 << 30},
		"limit_v2":       {map[string]string{meminfo: machine, v2: "4294967296\n"}, 4 << 30},
		"nothing_known":  {nil, 0},
		"not_a_number":   {map[string]string{meminfo: "MemAvailable: much\n"}, 0},
		"too_large":      {map[string]string{meminfo: "MemAvailable: 18446744073709551615 kB\n"}, 0},
		"not_said":       {map[string]string{meminfo: "MemTotal: 24679244 kB\n"}, 0},
		"no_machine":     {map[string]string{v2: "4294967296\n"}, 0},
		"limit_is_empty": {map[string]string{meminfo: machine, v2: "\n"}, 8 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			if got := freeMemory(checkout(t, test.files)); got != test.want {
				t.Errorf("%d bytes, want %d", got, test.want)
			}
		})
	}
}

// TestCollectingIsOfCompilers: only go commands are told how to collect. What else a step runs, Mullion's own programs
// among them, does as it does.
func TestCollectingIsOfCompilers(t *testing.T) {
	// In place of the go command runs what keeps its environment.
	root := checkout(t, map[string]string{"path/go": "#!/bin/sh\nenv >compiler\n"})
	t.Setenv("PATH", filepath.Join(root, "path")+":"+os.Getenv("PATH"))
	var out bytes.Buffer
	b := builderOf(t, root, &out)
	b.compiling = []string{"GOGC=off", "GOMEMLIMIT=2147483648"}
	steps := []step{
		{name: "program", system: "linux", packages: []string{"."}, to: "./"},
		{name: "other", system: "data", run: []string{"sh", "-c", "env >other"}},
	}
	if err := b.build(t.Context(), steps, 1); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}

	for file, want := range map[string]bool{"compiler": true, "other": false} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(text), "GOGC=off\n"); got != want {
			t.Errorf("%s has GOGC=off: %v, want %v", file, got, want)
		}
	}
}
