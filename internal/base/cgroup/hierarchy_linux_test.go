package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/testrun"
)

func TestHierarchies(t *testing.T) {
	const tmpfs = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
	const memory = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
	const joined = "36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
	for _, tt := range []struct {
		name, mountinfo string
		want            []Hierarchy
	}{
		{
			"v2", "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
			[]Hierarchy{{"/sys/fs/cgroup", true}},
		},
		{"v1", tmpfs + memory + joined, []Hierarchy{
			{"/sys/fs/cgroup/memory", false},
			{"/sys/fs/cgroup/cpu,cpuacct", false},
		}},
		{
			"hybrid", tmpfs + memory + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			[]Hierarchy{{"/sys/fs/cgroup/memory", false}},
		},
		{
			"of_a_container", memory + "90 31 0:32 / /var/lib/x/sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
			[]Hierarchy{{"/sys/fs/cgroup/memory", false}},
		},
		{"over_another", tmpfs + memory + tmpfs + memory, []Hierarchy{{"/sys/fs/cgroup/memory", false}}},
		{"beside_an_overlay", "40 23 0:40 / /x rw - overlay overlay rw,lowerdir=" + strings.Repeat("/layer:",
			5000) + "\n" + memory, []Hierarchy{{"/sys/fs/cgroup/memory", false}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := mounted(strings.NewReader(tt.mountinfo))
			got = used(got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}

	if _, err := mounted(strings.NewReader("23 1 8:1 / / rw - ext4 /dev/sda1 rw\n")); err == nil {
		t.Error("a machine without cgroups is none to complain of")
	}
}

// tree makes files in a folder that stands for a hierarchy; a name that ends in "/" makes a folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		dir := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			dir = path
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}

		if dir != path {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}

	return root
}

// last returns the file's content, which is what was written last. The kernel would take the controllers one by one and
// keep all.
func last(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCgroupV2PassesControllersOnAboveTheHost(t *testing.T) {
	root := tree(t, map[string]string{
		"cgroup.controllers": "cpuset cpu memory pids\n", "cgroup.subtree_control": "",
		"m/cgroup.controllers": "memory pids\n", "m/cgroup.subtree_control": "",
		"m/linux-1/cgroup.controllers": "memory\n", "m/linux-1/cgroup.subtree_control": "memory\n",
	})
	if err := (Hierarchy{Dir: root, V2: true}).MakeWith("/m/linux-1", "own"); err != nil {
		t.Fatal(err)
	}

	for file, want := range map[string]string{
		"cgroup.subtree_control": "+pids", "m/cgroup.subtree_control": "+pids",
		"m/linux-1/cgroup.subtree_control": "-memory", // or no process may be in the host's cgroup
	} {
		if got := last(t, filepath.Join(root, file)); got != want {
			t.Errorf("%s was last given %q, want %q", file, got, want)
		}
	}

	if _, err := os.Stat(filepath.Join(root, "m/linux-1", "own")); err != nil {
		t.Errorf("the cgroup of the host's own processes: %v", err)
	}
}

// A machine may hold back a controller. If a kubelet needs it, the error names it; otherwise there is no error.
func TestCgroupV2WithoutAController(t *testing.T) {
	for controllers, want := range map[string]string{
		"io hugetlb": "",
		"io memory":  `pass on cgroup controller "memory"`,
	} {
		// cannot be written to
		root := tree(t, map[string]string{"cgroup.controllers": controllers, "cgroup.subtree_control/": ""})
		err := PassOn(root)
		if got := err != nil && strings.Contains(err.Error(), want); got != (want != "") {
			t.Errorf("PassOn() with %q = %v, want %q", controllers, err, want)
		}
	}
}

func TestCgroupV1FillsCpusets(t *testing.T) {
	root := tree(t, map[string]string{
		"cpuset.cpus": "0-1\n", "cpuset.mems": "0\n", "m/cpuset.cpus": "\n", "m/cpuset.mems": "\n",
		"m/linux-1/cpuset.cpus": "1\n", "m/linux-1/cpuset.mems": "\n",
	})
	if err := (Hierarchy{Dir: root}).MakeWith("/m/linux-1", "own"); err != nil {
		t.Fatal(err)
	}

	for file, want := range map[string]string{
		"m/cpuset.cpus": "0-1\n", "m/cpuset.mems": "0\n",
		"m/linux-1/cpuset.cpus": "1\n", "m/linux-1/cpuset.mems": "0\n",
	} {
		if got := last(t, filepath.Join(root, file)); got != want {
			t.Errorf("%s = %q, want %q", file, got, want)
		}
	}

	if err := (Hierarchy{Dir: tree(t, nil)}).MakeWith("/m/linux-1", "own"); err != nil {
		t.Errorf("a hierarchy without cpusets: %v", err)
	}
}

// What systemd has passed on to a cgroup that it delegates is enough: nothing above it is written to.
func TestPassOnMissing(t *testing.T) {
	for _, tt := range []struct{ name, child, want string }{
		{"all there", "cpuset cpu io memory pids\n", "as systemd had it\n"},
		{"none there", "\n", "+pids"}, // the last of those written, one by one
		{"one is missing", "cpu memory pids\n", "+pids"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, map[string]string{
				"cgroup.controllers": "cpuset cpu memory pids\n", "cgroup.subtree_control": "as systemd had it\n",
				"child/cgroup.controllers": tt.child,
			})
			if err := (Hierarchy{Dir: dir, V2: true}).passOnMissing(dir, filepath.Join(dir, "child")); err != nil {
				t.Fatal(err)
			}

			got, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
			if err != nil || string(got) != tt.want {
				t.Errorf("subtree_control has %q, want %q (%v)", got, tt.want, err)
			}
		})
	}
}

func TestLimitCgroup(t *testing.T) {
	for _, tt := range []struct {
		name, hierarchy string
		v2              bool
		files           map[string]string
		want            string // the file that has the limit
	}{
		{"v1", "memory", false, map[string]string{"m/win-1/old": "max\n"}, "old"},
		{"v1, two controllers in one", "cpuacct,memory", false, map[string]string{"m/win-1/old": "max\n"}, "old"},
		{"v1 without", "pids", false, map[string]string{"m/win-1/x": ""}, ""},
		{"v2", "cgroup", true, map[string]string{
			"m/cgroup.controllers": "cpuset cpu memory pids", "m/win-1/cgroup.controllers": "cpuset cpu memory pids",
			"m/win-1/new": "max\n",
		}, "new"},
		{"v2 without", "cgroup", true, map[string]string{
			"cgroup.controllers": "pids", "cgroup.subtree_control": "",
			"m/cgroup.controllers": "pids", "m/cgroup.subtree_control": "", "m/win-1/cgroup.controllers": "pids",
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), tt.hierarchy)
			if err := os.Rename(tree(t, tt.files), dir); err != nil {
				t.Fatal(err)
			}
			err := setting{"memory", "old", "new", 800, 800}.in([]Hierarchy{{Dir: dir, V2: tt.v2}}, "/m/win-1")
			if errors.Is(err, ErrNoController) != (tt.want == "") || (err != nil && tt.want != "") {
				t.Fatalf("in() = %v", err)
			}

			if tt.want == "" {
				return
			}
			if got := last(t, filepath.Join(dir, "m/win-1", tt.want)); !strings.HasPrefix(got, "800") {
				t.Errorf("%s = %q, want 800", tt.want, got)
			}
		})
	}
}

func TestCountsSwap(t *testing.T) {
	testrun.Once(t, testrun.Race)
	for _, tt := range []struct {
		name, hierarchy string
		v2              bool
		file            string
		want            bool
	}{
		{"v1", "memory", false, "memory.memsw.limit_in_bytes", true},
		{"v1 with swapaccount=0", "memory", false, "memory.limit_in_bytes", false},
		{"v1 without the controller", "pids", false, "pids.max", false},
		{"v2", "cgroup", true, "cgroup.controllers", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), tt.hierarchy)
			if err := os.Rename(tree(t, map[string]string{tt.file: ""}), dir); err != nil {
				t.Fatal(err)
			}
			if got, err := countsSwap([]Hierarchy{{Dir: dir, V2: tt.v2}}); err != nil || got != tt.want {
				t.Errorf("countsSwap() = %t, %v, want %t", got, err, tt.want)
			}
		})
	}
}

// Sockets have a limit of their own in cgroup v1 alone: in v2 there is no file for one, and none is missed.
func TestLimitSockets(t *testing.T) {
	const file = "memory.kmem.tcp.limit_in_bytes"
	for _, tt := range []struct {
		name, hierarchy string
		v2              bool
		files           map[string]string
		want            string
		err             error
	}{
		{"v1", "memory", false, map[string]string{"m/" + file: "max\n"}, "800", nil},
		{"v1 without the controller", "pids", false, map[string]string{"m/x": ""}, "", ErrNoController},
		{"v1 of a kernel without the file", "memory", false, map[string]string{"m/x": ""}, "", ErrNoController},
		{"v2", "cgroup", true, map[string]string{"m/memory.max": "max\n"}, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), tt.hierarchy)
			if err := os.Rename(tree(t, tt.files), dir); err != nil {
				t.Fatal(err)
			}
			if err := limitSockets([]Hierarchy{{Dir: dir, V2: tt.v2}}, "/m", 800); !errors.Is(err, tt.err) {
				t.Fatalf("limitSockets() = %v, want %v", err, tt.err)
			}

			if got, _ := os.ReadFile(filepath.Join(dir, "m", file)); !strings.HasPrefix(string(got), tt.want) ||
				(tt.want == "" && len(got) > 0) {
				t.Errorf("%s = %q, want %q", file, got, tt.want)
			}
		})
	}
}
