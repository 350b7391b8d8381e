package cgroup

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
	"time"
)

// TestProcessors: on either version the share goes to the kernel's file in its own range, and the time is read in its
// unit. A cgroup that is gone is not made again.
func TestProcessors(t *testing.T) {
	v1 := tree(t, map[string]string{
		"cpu/m/pod/cpu.shares": "1024\n", "cpuacct/m/pod/cpuacct.usage": "2500000000\n", "memory/m/pod/x": "",
	})
	joined := tree(t, map[string]string{
		"cpu,cpuacct/m/pod/cpu.shares": "1024\n", "cpu,cpuacct/m/pod/cpuacct.usage": "2500000000\n",
	})
	v2 := tree(t, map[string]string{
		"m/pod/cpu.weight": "100\n", "m/pod/cpu.stat": "core_sched.force_idle_usec 3\nusage_usec 2500000\nuser_usec 7\n",
	})

	for _, tt := range []struct {
		name        string
		all         []Hierarchy
		file, share string
	}{
		{"v1", []Hierarchy{
			{Dir: filepath.Join(v1, "memory")}, {Dir: filepath.Join(v1, "cpuacct")}, {Dir: filepath.Join(v1, "cpu")},
		}, filepath.Join(v1, "cpu/m/pod/cpu.shares"), "51200"},
		{
			"v1, two controllers in one",
			[]Hierarchy{{Dir: filepath.Join(joined, "cpu,cpuacct")}},
			filepath.Join(joined, "cpu,cpuacct/m/pod/cpu.shares"),
			"51200",
		},
		{"v2", []Hierarchy{{Dir: v2, V2: true}}, filepath.Join(v2, "m/pod/cpu.weight"), "5000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := processorsOf(tt.all)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Weigh("/m/pod", 5000); err != nil {
				t.Error(err)
			}

			if got := last(t, tt.file); got != tt.share {
				t.Errorf("the share is %q, want %q", got, tt.share)
			}
			if got, err := p.Time("/m/pod"); err != nil || got != 2500*time.Millisecond {
				t.Errorf("Time() = %s, %v", got, err)
			}
			if err := p.Weigh("/m/gone", 5000); !IsGone(err) {
				t.Errorf("Weigh() of a cgroup that is gone: %v", err)
			}

			if _, err := p.Time("/m/gone"); !IsGone(err) {
				t.Errorf("Time() of a cgroup that is gone: %v", err)
			}
			if gone, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(tt.file)), "gone")); len(gone) > 0 {
				t.Errorf("it was made again: %q", gone)
			}
		})
	}
}

// TestProcessorsMissing: without its controllers a machine is said to have none, and a file without the figure is an
// error.
func TestProcessorsMissing(t *testing.T) {
	for _, dirs := range [][]Hierarchy{{{Dir: "/x/memory"}}, {{Dir: "/x/cpu"}}, {{Dir: "/x/cpuacct"}}, nil} {
		if _, err := processorsOf(dirs); !errors.Is(err, ErrNoController) {
			t.Errorf("processorsOf(%v): %v", dirs, err)
		}
	}

	p, err := processorsOf([]Hierarchy{{Dir: tree(t, map[string]string{"m/cpu.stat": "nr_periods 0\n"}), V2: true}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.Time("/m"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Time() = %s, %v", got, err)
	}
}
