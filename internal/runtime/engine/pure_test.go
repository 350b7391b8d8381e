package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

func TestResources(t *testing.T) {
	const processors = 4
	for _, tc := range []struct {
		name                 string
		in                   Resources
		quota, shares, limit int64
		cpus                 string
	}{
		{name: "processors", in: Resources{CPUs: "0-2,7"}, quota: -1, shares: 1024, limit: -1, cpus: "0-2,7"},
		{name: "none", quota: -1, shares: 1024, limit: -1},
		{name: "half-of-all", in: Resources{CPUMaximum: 5000}, quota: 200_000, shares: 1024, limit: -1},
		{name: "least", in: Resources{CPUMaximum: 1}, quota: 1000, shares: 1024, limit: -1},
		{
			name:   "count-before-maximum",
			in:     Resources{CPUCount: 1, CPUMaximum: 5000},
			quota:  100_000,
			shares: 1024,
			limit:  -1,
		},
		{name: "more-than-there-are", in: Resources{CPUCount: 99}, quota: 400_000, shares: 1024, limit: -1},
		{name: "shares", in: Resources{CPUShares: 10000}, quota: -1, shares: 2048, limit: -1},
		{
			name:   "maximum-before-shares",
			in:     Resources{CPUShares: 10000, CPUMaximum: 10000},
			quota:  400_000,
			shares: 1024,
			limit:  -1,
		},
		{name: "memory", in: Resources{MemoryLimit: 100 << 20}, quota: -1, shares: 1024, limit: 164 << 20},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.in.cgroupFor(processors, true)
			if *got.Pids.Limit != mostTasks {
				t.Errorf("%d processes", *got.Pids.Limit)
			}
			if got.CPU.Cpus != tc.cpus {
				t.Errorf("processors %q", got.CPU.Cpus)
			}

			if *got.CPU.Quota != tc.quota || *got.CPU.Shares != uint64(tc.shares) || *got.Memory.Limit != tc.limit {
				t.Errorf("quota %d, shares %d, limit %d", *got.CPU.Quota, *got.CPU.Shares, *got.Memory.Limit)
			}
			if got.Memory.Swap == nil || *got.Memory.Swap != tc.limit {
				t.Errorf("memory and swap together have the limit %v, want %d", got.Memory.Swap, tc.limit)
			}
			if uncounted := tc.in.cgroupFor(processors, false); uncounted.Memory.Swap != nil {
				t.Error("swap is limited where the machine does not count it")
			}
		})
	}
}

// TestOOMScore has what the kubelet computes for Linux containers whose requests are these limits.
func TestOOMScore(t *testing.T) {
	const capacity = 4_000_000_000
	for _, tc := range []struct {
		name string
		in   Resources
		own  int
		want int
	}{
		{"best effort", Resources{}, 0, 1000},
		{"processors of its own", Resources{CPUs: "1"}, 0, 1000},
		{"a processor limit alone", Resources{CPUMaximum: 5000}, 0, 999},
		{"little", Resources{MemoryLimit: 1}, 0, 999},
		{"a tenth", Resources{MemoryLimit: capacity / 10}, 0, 900},
		{"all", Resources{MemoryLimit: capacity}, 0, 3},
		{"more than there is", Resources{MemoryLimit: 1 << 62}, 0, 3},
		{"an engine that may not lower it", Resources{MemoryLimit: capacity}, 200, 200},
		{"a protected engine", Resources{MemoryLimit: capacity / 2}, -999, 500},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := &Engine{memory: memory{capacity: capacity, score: tc.own}}
			if got := e.oomScore(tc.in); got != tc.want {
				t.Errorf("score %d, want %d", got, tc.want)
			}
		})
	}

	if m, err := lookAtMemory(0); err != nil || m.capacity < 1<<20 || m.score < -1000 || m.score > 1000 {
		t.Errorf("this machine: %+v, %v", m, err)
	}
}

// TestSeccompProfile: by default a call is refused, and so is what Wine does not use.
func TestSeccompProfile(t *testing.T) {
	e := &Engine{opts: Options{IDs: DefaultIDs()}}
	p := e.spec(Container{ID: "c"}, nil, nil).Linux.Seccomp
	if p.DefaultAction != specs.ActErrno || !slices.Equal(p.Architectures, []specs.Arch{specs.ArchX86_64}) {
		t.Errorf("action %s, architectures %v", p.DefaultAction, p.Architectures)
	}
	for _, call := range p.Syscalls {
		for _, name := range call.Names {
			if strings.HasPrefix(name, "io_") || name == "socketcall" || name == "mount" || name == "bpf" {
				t.Errorf("the profile has %s", name)
			}
		}
	}
}

// TestSpecIsBounded: nothing of a container's specification is inherited or without an end.
func TestSpecIsBounded(t *testing.T) {
	e := &Engine{opts: Options{IDs: DefaultIDs()}, memory: memory{capacity: 4 << 30}}
	for limit, want := range map[int64]string{0: "size=25%", 1 << 20: "size=67108864", 1 << 30: "size=1073741824"} {
		s := e.spec(Container{ID: "c", Resources: Resources{MemoryLimit: limit}}, nil, nil)
		score := map[int64]int{0: 1000, 1 << 20: 999, 1 << 30: 750}[limit]
		if got := s.Process.OOMScoreAdj; got == nil || *got != score {
			t.Errorf("OOM score %v", got)
		}
		if pids := s.Linux.Resources.Pids; pids == nil || pids.Limit == nil || *pids.Limit != mostTasks {
			t.Errorf("processes: %v", pids)
		}

		for what, process := range map[string]*specs.Process{
			"the first process": s.Process, "a program of an exec": e.execProcess(process{e}, ExecSpec{}),
		} {
			for kind, want := range map[string]uint64{"RLIMIT_SIGPENDING": mostTasks, "RLIMIT_MSGQUEUE": 0, "RLIMIT_CORE": 1} {
				if !slices.Contains(process.Rlimits, specs.POSIXRlimit{
					Type: kind,
					Hard: want,
					Soft: want,
				}) {
					t.Errorf("%s has no %s of %d", what, kind, want)
				}
			}
		}

		for _, m := range s.Mounts {
			size := slices.IndexFunc(m.Options, func(o string) bool { return strings.HasPrefix(o, "size=") })
			switch {
			case m.Type == "tmpfs" && size < 0:
				t.Errorf("tmpfs at %s has no size", m.Destination)
			case m.Destination == "/tmp" && m.Options[size] != want:
				t.Errorf("/tmp with %d bytes of memory: %s, want %s", limit, m.Options[size], want)
			}
		}
	}
}

func TestSplitTarget(t *testing.T) {
	for path, want := range map[string][]string{
		`C:\Windows\System32`: {"Windows", "System32"}, "/var/run/x": {"var", "run", "x"}, `c:/dev\termination-log`: {"dev", "termination-log"},
		`data\..\..\..\etc`: {"etc"}, `C:\`: nil, "": nil, `A:\x`: nil, "b:": nil, `[:\x`: nil, `\\?\C:\x`: nil,
		"C:\\a:b": nil, `D:\x`: {"x"}, "D:x": {"x"}, `z:\..\y`: {"y"}, `D:\a:b`: nil,
	} {
		_, got, err := splitTarget(path)
		if (err != nil) != (want == nil) || (err != nil && !errors.Is(err, ErrTarget)) {
			t.Errorf("splitTarget(%q): %v", path, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("splitTarget(%q) (-want +got):\n%s", path, diff)
		}
	}
}

// tree makes folders (names ending in /), links (name -> target) and files below dir.
func tree(t *testing.T, dir string, names ...string) string {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if name[len(name)-1] == '/' {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	return dir
}

func TestResolveTarget(t *testing.T) {
	image := tree(t, t.TempDir(), "Files/App/", "Files/Hidden/")
	system := tree(t, t.TempDir(), "Files/windows/system32/drivers/etc/hosts", "Files/app/lower/", "Files/secret/deep/")
	if err := os.Symlink("/etc", filepath.Join(image, "Files", "link")); err != nil {
		t.Fatal(err)
	}

	for _, tc := range []struct {
		in, want string
		exists   int
		isDir    bool
		fail     bool
	}{
		{in: `C:\Windows\System32\drivers\etc\HOSTS`, want: "/Files/windows/system32/drivers/etc/hosts", exists: 5},
		{in: `c:\app`, want: "/Files/App", exists: 1, isDir: true},
		{in: `c:\APP\New\x`, want: "/Files/App/New/x", exists: 1, isDir: true},
		{in: "D:", want: "/drives/d", isDir: true},
		{in: `e:\New\x`, want: "/drives/e/New/x", isDir: true},
		{in: "/var/run/secrets", want: "/Files/var/run/secrets", isDir: true},
		{in: `c:\LINK\x`, fail: true},
		{in: `c:\link`, fail: true},
		{in: `C:\windows\system32\drivers\etc\hosts\x`, fail: true},
	} {
		got, err := resolveTarget([]string{image, system}, tc.in)
		if (err != nil) != tc.fail {
			t.Errorf("resolveTarget(%q): %v", tc.in, err)
			continue
		}
		if err == nil && (got.Path() != tc.want || got.exists != tc.exists || got.isDir != tc.isDir) {
			t.Errorf("resolveTarget(%q) = %s %d %v, want %s %d %v", tc.in, got.Path(), got.exists, got.isDir, tc.want,
				tc.exists, tc.isDir)
		}
	}
}

func TestResolveTargetSeesWhiteouts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making a whiteout needs root")
	}
	image := tree(t, t.TempDir(), "Files/opaque/")
	system := tree(t, t.TempDir(), "Files/gone/below/", "Files/opaque/below/")
	if err := unix.Mknod(filepath.Join(image, "Files", "gone"), unix.S_IFCHR, 0); err != nil {
		t.Skipf("make whiteout: %v", err)
	}

	if err := unix.Lsetxattr(filepath.Join(image, "Files", "opaque"), "trusted.overlay.opaque", []byte("y"),
		0); err != nil {
		t.Skipf("make opaque folder: %v", err)
	}

	for in, exists := range map[string]int{`C:\gone\below`: 0, `C:\opaque\BELOW`: 1} {
		got, err := resolveTarget([]string{image, system}, in)
		if err != nil || got.exists != exists {
			t.Errorf("resolveTarget(%q): %d parts exist, want %d (%v)", in, got.exists, exists, err)
		}
	}
}

func TestMakeTargetStaysInUpper(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving files away needs root")
	}
	e := &Engine{opts: Options{IDs: DefaultIDs()}}
	upper := t.TempDir()
	system := tree(t, t.TempDir(), "Files/windows/system32/drivers/etc/")
	if err := os.Chmod(filepath.Join(system, "Files"), 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}

	target, err := resolveTarget([]string{upper, system}, `C:\Windows\System32\drivers\etc\hosts`)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.makeTarget(upper, target, false, 12345); err != nil {
		t.Fatal(err)
	}

	var stat unix.Stat_t
	if err := unix.Lstat(filepath.Join(upper, "Files"), &stat); err != nil || stat.Mode&0o7777 != 0o1777 ||
		stat.Uid != DefaultIDs().Base {
		t.Errorf("folder copied from below: mode %o, owner %d, %v", stat.Mode, stat.Uid, err)
	}
	if err := unix.Lstat(filepath.Join(upper, "Files/windows/system32/drivers/etc/hosts"), &stat); err != nil ||
		stat.Uid != 12345 {
		t.Errorf("new file: owner %d, %v", stat.Uid, err)
	}

	if err := e.makeTarget(upper, target, true, 12345); err == nil {
		again, err := resolveTarget([]string{upper, system}, `C:\Windows\System32\drivers\etc\hosts`)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.makeTarget(upper, again, true, 12345); !errors.Is(err, ErrTarget) {
			t.Errorf("a folder on a file: %v", err)
		}
	}
}

// TestMakeVolume: a volume of an image is the container's user's, whether or not the image has the folder, and on a
// drive of its own.
func TestMakeVolume(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving files away needs root")
	}

	e := &Engine{opts: Options{IDs: DefaultIDs()}}
	upper := t.TempDir()
	image := tree(t, t.TempDir(), "Files/App/Cache/old", "Files/file")
	for _, winPath := range []string{`C:\app\cache`, `/data/sub`, `E:`, `F:\x`} {
		target, err := resolveTarget([]string{upper, image}, winPath)
		if err == nil {
			err = e.makeVolume(upper, target, 12345)
		}
		if err != nil {
			t.Fatalf("%s: %v", winPath, err)
		}
	}

	for path, owner := range map[string]uint32{
		"Files/App": DefaultIDs().Base, "Files/App/Cache": 12345, "Files/data/sub": 12345, "drives/e": 12345, "drives/f/x": 12345,
		"dosdevices": DefaultIDs().Base, "drives": DefaultIDs().Base,
	} {
		var stat unix.Stat_t
		err := unix.Lstat(filepath.Join(upper, path), &stat)
		if err != nil || stat.Uid != owner || stat.Mode&unix.S_IFDIR == 0 {
			t.Errorf("%s: owner %d, mode %o, %v, want a folder of %d", path, stat.Uid, stat.Mode, err, owner)
		}
	}

	for letter, want := range map[string]string{"e:": "../drives/e", "f:": "../drives/f"} {
		if got, err := os.Readlink(filepath.Join(upper, "dosdevices", letter)); err != nil || got != want {
			t.Errorf("%s leads to %q, %v, want %q", letter, got, err, want)
		}
	}

	target, err := resolveTarget([]string{upper, image}, `C:\FILE`)
	if err == nil {
		err = e.makeVolume(upper, target, 12345)
	}
	if !errors.Is(err, ErrTarget) {
		t.Errorf("a volume in the place of a file: %v", err)
	}
}

func TestOverlayOf(t *testing.T) {
	got, err := overlayOf([]mount.Mount{{
		Type:    "overlay",
		Options: []string{"index=off", "workdir=/s/3/work", "upperdir=/s/3/fs", "lowerdir=/s/2/fs:/s/1/fs"},
	}})
	if err != nil || got.upper != "/s/3/fs" || got.work != "/s/3/work" || len(got.lower) != 2 ||
		got.lower[0] != "/s/2/fs" || len(got.rest) != 1 {
		t.Errorf("overlay: %+v %v", got, err)
	}

	got, err = overlayOf([]mount.Mount{{Type: "bind", Source: "/s/4/fs", Options: []string{"rw", "rbind"}}})
	if err != nil || got.upper != "/s/4/fs" || got.work != "/s/4/work" || len(got.lower) != 0 {
		t.Errorf("without a parent: %+v %v", got, err)
	}
	if _, err := overlayOf([]mount.Mount{{Type: "erofs"}}); err == nil {
		t.Error("another kind of snapshot was taken")
	}
}

// TestMachineUsers: no machine runs as a user of another one or of a container. A process of the same user could write
// to its memory by /proc.
func TestMachineUsers(t *testing.T) {
	e := &Engine{opts: Options{IDs: DefaultIDs()}}
	taken := map[uint32]string{}
	for i := range 200 {
		id := fmt.Sprintf("%064x", i)
		u := e.machineUser(id)
		if u.Files != DefaultIDs().Base || u.Size != DefaultIDs().Size || u.ID < u.Files+u.Size || u.ID >= 0x7fff_ffff {
			t.Fatalf("machine %s: %+v", id, u)
		}

		for _, user := range []uint32{u.ID, u.ID + 1} { // QEMU's and virtiofsd's
			if other := taken[user]; other != "" {
				t.Errorf("machines %s and %s are both user %d", id, other, user)
			}
			taken[user] = id
		}
	}
}

// TestSpecOfNodeMemory: where the node has a part of the machine's memory, a container's /tmp is a part of that, and
// its programs see the node's memory, unless they are in a virtual machine, which has its own.
func TestSpecOfNodeMemory(t *testing.T) {
	e := &Engine{opts: Options{
		IDs:          DefaultIDs(),
		Memory:       4 << 30,
		MemoryMounts: []BindMount{{Source: "/sys/fs/cgroup/n/memory.max", Target: "/run/mullion-memory/limit"}},
	}}

	for kind, want := range map[Kind]bool{nil: true, InMachine{"m"}: false} {
		s := e.spec(Container{ID: "c", Kind: kind}, nil, nil)
		shown := slices.ContainsFunc(s.Mounts, func(m specs.Mount) bool {
			return m.Destination == "/run/mullion-memory/limit" && slices.Contains(m.Options, "ro")
		})
		if shown != want {
			t.Errorf("kind %+v: the node's memory is shown: %v", kind, shown)
		}

		i := slices.IndexFunc(s.Mounts, func(m specs.Mount) bool { return m.Destination == "/tmp" })
		if i < 0 || !slices.Contains(s.Mounts[i].Options, "size=1073741824") {
			t.Errorf("mounts: %+v", s.Mounts)
		}
	}
}

// TestMachineMemory: a virtual machine has no more memory than there is.
func TestMachineMemory(t *testing.T) {
	e := &Engine{memory: memory{capacity: 4 << 30}}
	if err := e.checkMemory(Machine{Memory: 4 << 30}); err != nil {
		t.Error(err)
	}
	err := e.checkMemory(Machine{Memory: 5 << 30})
	if !errdefs.IsInvalidArgument(err) || !strings.Contains(err.Error(), "5120 MB on a node that has 4096 MB") {
		t.Error(err)
	}
}
