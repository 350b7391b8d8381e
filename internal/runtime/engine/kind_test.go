package engine

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// TestSpecOfKinds has what sets the kinds of containers apart on the machine.
func TestSpecOfKinds(t *testing.T) {
	shown := BindMount{Source: "/sys/fs/cgroup/n/memory.max", Target: "/run/mullion-memory/limit"}
	e := &Engine{opts: Options{
		IDs:          DefaultIDs(),
		MemoryMounts: []BindMount{shown},
		Host: &Host{
			Tmp:    "/host/tmp",
			Shared: "/host/shared",
			Shares: "/host/shares",
		},
	}}

	plain := Container{
		ID:       "c",
		Pod:      "p",
		Hostname: "pod",
		NetNS:    "/pod",
		WorkDir:  "/work",
	}

	for _, tc := range []struct {
		name     string
		kind     Kind
		ids      IDRange // of the user namespace; the zero value: it has none
		owner    uint32
		hostname string
		rights   bool
		memory   bool
		pid      string // the path of the PID namespace
		targets  []string
	}{
		{
			name: "process", ids: podRange("p"), owner: podRange("p").Base, hostname: "pod", memory: true,
			targets: []string{WorkDirTarget},
		},
		{
			name: "machine", kind: InMachine{"m"}, ids: DefaultIDs(), owner: DefaultIDs().Base, hostname: "pod",
			targets: []string{WorkDirTarget},
		},
		{
			name: "host-process", kind: &HostProcess{}, rights: true, memory: true, pid: "/proc/42/ns/pid",
			targets: []string{"/host/shared/c", "/host/shares", "/work"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := plain
			c.Kind, c.Labels = tc.kind, map[string]string{labelHostPID: "42"}
			s := e.spec(c, nil, nil)

			var ids IDRange
			if maps := s.Linux.UIDMappings; len(maps) > 0 {
				ids = IDRange{Base: maps[0].HostID, Size: maps[0].Size}
			}

			inUserNamespace := slices.ContainsFunc(s.Linux.Namespaces, func(n specs.LinuxNamespace) bool {
				return n.Type == specs.UserNamespace
			})
			if ids != tc.ids || inUserNamespace != (tc.ids != IDRange{}) || e.owner(c) != tc.owner {
				t.Errorf("ids %+v, a user namespace %t, owner %d", ids, inUserNamespace, e.owner(c))
			}

			later := e.execProcess(e.kindOf(c), ExecSpec{})
			open := func(u specs.User) bool { return u.Umask != nil && *u.Umask == 0 }
			if own := tc.name == "host-process"; open(s.Process.User) != own || open(later.User) != own {
				t.Errorf("the umask of its programs is open: %t, of later ones: %t, want %t", open(s.Process.User),
					open(later.User), own)
			}
			if rights := len(s.Process.Capabilities.Effective) > 0; rights != tc.rights {
				t.Errorf("capabilities %q", s.Process.Capabilities.Effective)
			}

			pid := slices.IndexFunc(s.Linux.Namespaces, func(n specs.LinuxNamespace) bool {
				return n.Type == specs.PIDNamespace
			})
			if pid < 0 || s.Linux.Namespaces[pid].Path != tc.pid || s.Hostname != tc.hostname {
				t.Errorf("host name %q, namespaces %+v", s.Hostname, s.Linux.Namespaces)
			}

			mounted := func(target string) bool {
				return slices.ContainsFunc(s.Mounts, func(m specs.Mount) bool { return m.Destination == target })
			}
			if mounted(shown.Target) != tc.memory {
				t.Errorf("the node's memory is shown: %t", mounted(shown.Target))
			}

			for _, target := range []string{WorkDirTarget, "/work", "/host/shared/c", "/host/shares"} {
				if mounted(target) != slices.Contains(tc.targets, target) {
					t.Errorf("%s is mounted: %t", target, mounted(target))
				}
			}
		})
	}
}

// TestKindIn: a container in the host is known by its view of the host, which another server may have made.
func TestKindIn(t *testing.T) {
	shared := t.TempDir()
	if err := os.Mkdir(filepath.Join(shared, "0123456789abcdef"), 0o755); err != nil {
		t.Fatal(err)
	}

	for _, tc := range []struct {
		name, id string
		host     *Host
		want     kind
	}{
		{"in-the-host", "0123456789abcdef0123", &Host{Shared: shared}, hostProcess{}},
		{"beside-it", "fedcba98765432100123", &Host{Shared: shared}, process{}},
		{"no-host", "0123456789abcdef0123", nil, process{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := &Engine{opts: Options{Host: tc.host}}
			got, err := e.kindIn(t.Context(), tc.id)
			if err != nil || reflect.TypeOf(got) != reflect.TypeOf(tc.want) {
				t.Errorf("kind %T, %v, want %T", got, err, tc.want)
			}
		})
	}
}
