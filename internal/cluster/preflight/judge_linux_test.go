package preflight

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// good returns a machine that lacks nothing.
func good() Facts {
	data := Folder{
		Path: "/var/lib",
		Type: "ext4",
		Free: 50 << 30,
	}

	return Facts{
		Kernel:            "6.1.0-50-cloud-amd64",
		Preloader:         true,
		MaxUserNamespaces: 24000,
		DataFolder:        data,
		BinFolder:         data,
		Controllers:       []string{"cpuset", "cpu", "io", "memory", "pids"},
		Network:           map[string]error{"a bridge": nil},
		Seccomp:           true,
		MemoryAvailable:   6 << 30,
		MemoryTotal:       8 << 30,
		InotifyInstances:  1024,
		InotifyWatches:    1 << 20,
		IPv6:              true,
		Routes: []Route{
			{netip.MustParsePrefix("10.0.2.0/24"), "eth0"},
			{netip.MustParsePrefix("0.0.0.0/0"), "eth0"},
		},
	}
}

func want() Want {
	return Want{
		Nodes: 3,
		New:   true,
		Link:  "mullion1",
		Subnets: map[string][]netip.Prefix{
			"podSubnet":     {netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00:10:244::/56")},
			"serviceSubnet": {netip.MustParsePrefix("10.96.0.0/12"), {}},
		},
	}
}

func TestJudge(t *testing.T) {
	refused := errors.New("operation not permitted")
	for _, tt := range []struct {
		name   string
		change func(*Facts)
		// check and fatal are of the finding, problem and remedy are in its texts.
		check           string
		fatal           bool
		problem, remedy string
	}{
		{
			"old kernel", func(f *Facts) { f.Kernel = "5.15.0-91-generic" }, "kernel", true,
			"5.15.0-91-generic; Windows containers need 5.19", "boot a newer kernel",
		},
		{
			"no Wine", func(f *Facts) { f.Programs = []error{errors.New("find Wine")} }, "programs", true, "find Wine",
			"apt-get install",
		},
		{
			"half built", func(f *Facts) { f.Own = []string{"coredns", "windows/win-bridge.exe"} }, "programs", true,
			"coredns, windows/win-bridge.exe", "make build",
		},
		{
			"no preloader", func(f *Facts) { f.Kernel, f.Preloader = "6.12.95-amd64", false }, "programs", false,
			"on Linux 6.12.95-amd64 one start of a Windows program in some thousands", "wine64-preloader",
		},
		{
			"no user namespaces in the kernel", func(f *Facts) { f.Namespaces = []string{"user"} }, "namespaces", true,
			"user", "kernel of a distribution",
		},
		{
			"user namespaces turned off", func(f *Facts) { f.MaxUserNamespaces = 0 }, "namespaces", true,
			"user.max_user_namespaces = 0", "sysctl -w",
		},
		{
			"in a chroot", func(f *Facts) { f.UserNamespace = syscall.EPERM }, "namespaces", true,
			"cannot be made, and every Windows container needs one: operation not permitted", "refuses it in a chroot",
		},
		{
			"noexec data folder", func(f *Facts) { f.DataFolder.NoExec = true }, "folders", true,
			`"/var/lib" is mounted with noexec`, "mount -o remount,exec /var/lib",
		},
		{
			"read-only data folder", func(f *Facts) { f.DataFolder.ReadOnly, f.DataFolder.Overlay = true, refused },
			"folders", true, "read-only", "--data-dir",
		},
		{
			"data folder in a container", func(f *Facts) { f.DataFolder.Type, f.DataFolder.Overlay = "overlay", refused },
			"folders", true, "is on overlayfs", "on a volume",
		},
		{
			"data folder without overlays", func(f *Facts) { f.DataFolder.Type, f.DataFolder.Overlay = "nfs", refused },
			"folders", true, "(nfs): operation not permitted", "ext4, xfs or btrfs",
		},
		{
			"data folder on a full disk", func(f *Facts) {
				f.DataFolder.Overlay = &os.PathError{
					Op:   "mkdir",
					Path: "/var/lib/mullion/.try",
					Err:  syscall.ENOSPC,
				}
			},
			"folders", true, `the file system of data folder "/var/lib" is full`, "free some space",
		},
		{
			"data folder beyond a quota", func(f *Facts) {
				f.DataFolder.Overlay = errors.Join(fmt.Errorf("mount an overlay: %w", syscall.EDQUOT))
			},
			"folders", true, "its quota is used up", "free some space",
		},
		{
			"data folder without ID-mapped mounts",
			func(f *Facts) { f.DataFolder.Type, f.DataFolder.IDMapped = "zfs", refused }, "folders", true,
			"with ID mapping (zfs)", "ext4, xfs or btrfs",
		},
		{
			"no memory controller", func(f *Facts) { f.Controllers = []string{"cpu", "cpuset", "io", "pids"} }, "cgroups",
			true, "need them: memory", "cgroup_enable=memory",
		},
		{
			"read-only cgroups", func(f *Facts) { f.CgroupWritable = refused }, "cgroups", true, "cannot be made",
			"privileged",
		},
		{
			"no bridge", func(f *Facts) { f.Network["a bridge"] = refused }, "network", true, "a bridge cannot be made",
			"modules",
		},
		{
			"locked modules", func(f *Facts) { f.Network["a bridge"], f.ModulesLocked = refused, true }, "network", true,
			"a bridge", "modules_disabled",
		},
		{"no seccomp", func(f *Facts) { f.Seccomp = false }, "seccomp", true, "seccomp", "kernel"},
		{
			"confined", func(f *Facts) { f.AppArmorProfile = "docker-default" }, "apparmor", false, "docker-default",
			"unconfined",
		},
		{
			"little memory", func(f *Facts) { f.MemoryAvailable = 1 << 30 }, "memory", false,
			"1024 MiB of memory are available", "fewer nodes",
		},
		{"full disk", func(f *Facts) { f.DataFolder.Free = 1 << 30 }, "disk", true, "1024 MiB are free", "make room"},
		{
			"small disk", func(f *Facts) { f.DataFolder.Free = 3 << 30 }, "disk", false, "leaves little for images",
			"make room",
		},
		{
			"core files of containers for a program", func(f *Facts) { f.CoreProgram, f.CoreFiles = "/usr/share/apport/apport", refused },
			"core-files", false, "the kernel runs /usr/share/apport/apport, as root", "ulimit -Hc",
		},
		{
			"few inotify instances", func(f *Facts) { f.InotifyInstances = 64 }, "inotify", false,
			"max_user_instances is 64", "sysctl -w fs.inotify.max_user_instances=128",
		},
		{
			"a network that pods would hide",
			func(f *Facts) { f.Routes = append(f.Routes, Route{netip.MustParsePrefix("10.100.0.0/16"), "wg0"}) },
			"subnets", false, "serviceSubnet 10.96.0.0/12 overlaps 10.100.0.0/16", "networking.serviceSubnet",
		},
		{
			"a network of IPv6 that pods would hide",
			func(f *Facts) { f.Routes = append(f.Routes, Route{netip.MustParsePrefix("fd00:10:244::/48"), "wg0"}) },
			"subnets", false, "podSubnet fd00:10:244::/56 overlaps fd00:10:244::/48", "networking.podSubnet",
		},
		{
			"firewalld", func(f *Facts) { f.Dropping = []string{"inet firewalld filter_FORWARD"} }, "firewall", false,
			"firewalld", "--add-interface=mullion1",
		},
		{
			"rules by hand", func(f *Facts) { f.Dropping = []string{"inet filter forward"} }, "firewall", false,
			"inet filter forward", "link mullion1",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := good()
			tt.change(&f)
			got := Judge(f, want())
			if len(got) != 1 {
				t.Fatalf("got %d findings, want one: %+v", len(got), got)
			}

			if got[0].Check != tt.check || got[0].Fatal != tt.fatal || !strings.Contains(got[0].Problem, tt.problem) ||
				!strings.Contains(got[0].Remedy, tt.remedy) {
				t.Errorf("got %+v, want %s, fatal %t, with %q and %q", got[0], tt.check, tt.fatal, tt.problem,
					tt.remedy)
			}
		})
	}

	t.Run("IPv6", func(t *testing.T) {
		f, w := good(), want()
		f.Dropping = []string{"ip6 hand forward"}
		if got := Judge(f, w); len(got) != 0 {
			t.Errorf("a cluster of IPv4 minds what is dropped of IPv6: %+v", got)
		}
		w.IPv6 = true
		if got := Judge(f, w); len(got) != 1 || got[0].Check != "firewall" || got[0].Fatal {
			t.Errorf("what is dropped: got %+v", got)
		}

		f.Dropping, f.IPv6 = nil, false
		if got := Judge(f, w); len(got) != 1 || got[0].Check != "ipv6" || !got[0].Fatal {
			t.Errorf("a kernel without it: got %+v", got)
		}
	})

	t.Run("nothing", func(t *testing.T) {
		if got := Judge(good(), want()); len(got) != 0 {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("an older kernel needs no preloader", func(t *testing.T) {
		f := good()
		f.Kernel, f.Preloader = "6.8.0-31-generic", false
		if got := Judge(f, want()); len(got) != 0 {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("a cluster that is there needs no room to be made", func(t *testing.T) {
		f, w := good(), want()
		f.DataFolder.Free = 0
		f.MemoryAvailable = 1
		w.New = false
		f.Routes = append(f.Routes, Route{netip.MustParsePrefix("10.244.1.0/24"), "mullion1"})
		if got := Judge(f, w); len(got) != 0 {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("memory as docs/benchmarks.md says that it was measured", func(t *testing.T) {
		const measured = 49 << 30 / 10 // of a control plane and 20 Windows nodes
		f, w := good(), want()
		w.Nodes, f.MemoryAvailable = 20, measured-100*mib
		if got := Judge(f, w); len(got) != 1 || got[0].Check != "memory" {
			t.Errorf("with less: %+v", got)
		}

		f.MemoryAvailable = measured + 200*mib
		if got := Judge(f, w); len(got) != 0 {
			t.Errorf("with more: %+v", got)
		}
	})

	t.Run("memory of nodes", func(t *testing.T) {
		f, w := good(), want()
		w.Memory = map[string]int64{"win-1": 4 << 30, "win-2": 4 << 30, "win-3": NodeMemory(8 << 30)} // together more
		if got := Judge(f, w); len(got) != 0 {
			t.Errorf("within the machine's: %+v", got)
		}

		w.Memory["win-3"] += mib
		got := Judge(f, w)
		if len(got) != 1 || got[0].Check != "node-memory" || !got[0].Fatal || !strings.Contains(got[0].Problem,
			"node win-3 shall have 7373 MiB of memory; the machine has 8192 MiB, of which a node can have 7372") {
			t.Errorf("more than the machine keeps for others: %+v", got)
		}

		f.MemoryTotal = 0
		if got := Judge(f, w); len(got) != 0 {
			t.Errorf("of a machine that does not say: %+v", got)
		}
	})

	t.Run("the fatal ones first", func(t *testing.T) {
		f := good()
		f.InotifyInstances = 1
		f.Kernel = "4.19"
		f.Seccomp = false
		all := Judge(f, want())
		if len(all) != 3 || !all[0].Fatal || !all[1].Fatal || all[2].Fatal || len(Fatal(all)) != 2 {
			t.Errorf("got %+v", all)
		}
	})
}

func TestDroppingIn(t *testing.T) {
	const firewalld = `{"chain": {"family": "inet", "table": "firewalld", "name": "filter_FORWARD", "hook": "forward", "policy": "accept"}}`
	for _, tt := range []struct {
		name, text string
		chains     []string
	}{
		{"nothing", `{"nftables": [{"metainfo": {"version": "1.0.6"}}]}`, nil},
		{"not JSON", `Error: syntax`, nil},
		{"accepting", `{"nftables": [{"chain": {"family": "inet", "table": "x", "name": "f", "hook": "forward", "policy": "accept"}}]}`, nil},
		{"by hand", `{"nftables": [{"chain": {"family": "inet", "table": "x", "name": "f", "hook": "forward", "policy": "drop"}},
			{"chain": {"family": "inet", "table": "x", "name": "i", "hook": "input", "policy": "drop"}}]}`, []string{"inet x f"}},
		// ufw's and Docker's, where the cluster lets its own packets pass.
		{"iptables", `{"nftables": [{"chain": {"family": "ip", "table": "filter", "name": "FORWARD", "hook": "forward", "policy": "drop"}},
			{"chain": {"family": "ip6", "table": "filter", "name": "FORWARD", "hook": "forward", "policy": "drop"}}]}`, nil},
		{"IPv6 by hand", `{"nftables": [{"chain": {"family": "ip6", "table": "x", "name": "f", "hook": "forward", "policy": "drop"}}]}`, []string{"ip6 x f"}},
		{"firewalld", `{"nftables": [` + firewalld + `]}`, []string{"inet firewalld filter_FORWARD"}},
		{"firewalld that was told", `{"nftables": [` + firewalld + `,
			{"rule": {"family": "inet", "table": "firewalld", "chain": "c", "expr": [{"match": {"op": "==", "left": {"meta": {"key": "iifname"}}, "right": "mullion1"}}]}}]}`, nil},
		{"firewalld that was told of another", `{"nftables": [` + firewalld + `,
			{"rule": {"family": "inet", "table": "firewalld", "chain": "c", "expr": [{"match": {"right": "mullion12"}}]}}]}`, []string{"inet firewalld filter_FORWARD"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if chains := droppingIn([]byte(tt.text), "mullion1"); !slices.Equal(chains, tt.chains) {
				t.Errorf("got %q, want %q", chains, tt.chains)
			}
		})
	}
}

// TestRemedyNamesThePackages holds that the remedy names the packages themselves, for people without a checkout and its
// `make deps`.
func TestRemedyNamesThePackages(t *testing.T) {
	list, err := exec.CommandContext(t.Context(), "../../../hack/deps.sh", "list").Output()
	if err != nil {
		t.Fatal(err)
	}

	f := good()
	f.Programs = []error{errors.New("find Wine")}
	remedy := Judge(f, want())[0].Remedy
	packages := strings.Fields(string(list))
	if len(packages) == 0 {
		t.Fatal("hack/deps.sh lists no package")
	}

	for _, p := range packages {
		if !strings.Contains(remedy, " "+p) {
			t.Errorf("%q does not name %s", remedy, p)
		}
	}
}
