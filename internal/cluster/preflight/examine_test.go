package preflight

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// states returns the states of checks, by their names.
func states(checks []Check) map[string]State {
	all := map[string]State{}
	for _, c := range checks {
		all[c.Name] = c.State
	}
	return all
}

// TestExamine has a check for each subject that matters to the cluster, each of which says what it means and what it
// saw.
func TestExamine(t *testing.T) {
	got := Examine(good(), want())
	for _, c := range got {
		if c.State != Passed || c.Seen == "" || c.Means == "" || c.NotSeen != "" || len(c.Findings) > 0 {
			t.Errorf("of a good machine: %+v", c)
		}
	}

	names := states(got)
	for _, name := range []string{"ipv6", "node-memory"} {
		if _, there := names[name]; there {
			t.Errorf("%s does not matter to this cluster", name)
		}
	}

	w := want()
	w.IPv6, w.Memory = true, map[string]int64{"win-1": 1 << 30}
	if got := len(Examine(good(), w)); got != len(subjects()) {
		t.Errorf("%d checks of %d", got, len(subjects()))
	}
}

// TestExamineWithoutRoot: what an ordinary user cannot see has neither passed nor failed; what such a user sees to be
// wrong is wrong all the same.
func TestExamineWithoutRoot(t *testing.T) {
	f := good()
	f.Unprivileged, f.Network = true, nil
	f.DataFolder = Folder{Path: "/root/data", Unread: fs.ErrPermission}
	f.Kernel = "5.10.0"
	f.Controllers = []string{"cpu"}
	f.CoreProgram = "/lib/systemd/systemd-coredump"
	f.Hidden = []string{"/root/data/kubernetes/v1.99.0/server/bin/kubelet"}
	got := Examine(f, want())
	wanted := map[string]State{
		"kernel": Failed, "programs": Unseen, "namespaces": Passed, "folders": Unseen, "cgroups": Failed,
		"network": Unseen, "seccomp": Passed, "core-files": Unseen, "apparmor": Passed, "selinux": Passed, "memory": Passed, "disk": Unseen, "inotify": Passed,
		"subnets": Passed, "firewall": Unseen,
	}

	if diff := cmp.Diff(wanted, states(got)); diff != "" {
		t.Error(diff)
	}

	for _, c := range got {
		if (c.State == Unseen) != (c.NotSeen != "") && c.Name != "cgroups" {
			t.Errorf("%s is %s, and not seen is %q", c.Name, c.State, c.NotSeen)
		}
		if c.Name == "cgroups" && c.NotSeen == "" {
			t.Error("a check that failed does not say what else it could not see")
		}
	}

	f.Unprivileged = false
	if got := states(Examine(f, want())); got["folders"] != Failed || got["disk"] != Passed {
		t.Errorf("of a folder that root cannot look at: %v", got)
	}
}

// TestFindingsAreOfTheirCheck holds that a check is named like its findings, so that both are looked up by one name.
func TestFindingsAreOfTheirCheck(t *testing.T) {
	bad := Facts{
		Kernel:     "5.10.0",
		Programs:   []error{errors.New("find Wine")},
		Own:        []string{"mullion-node"},
		Namespaces: []string{"user"},
		DataFolder: Folder{
			Path:     "/",
			ReadOnly: true,
			NoExec:   true,
		},
		CgroupWritable:  fs.ErrPermission,
		Network:         map[string]error{"a bridge": fs.ErrPermission},
		CoreProgram:     "/usr/share/apport/apport",
		CoreFiles:       fs.ErrPermission,
		AppArmorProfile: "confined",
		SELinux:         SELinux{Enforcing: true, ExecMem: errors.New("refused")},
		MemoryTotal:     1 << 30,
		MemoryAvailable: 1 << 20, InotifyInstances: 1, InotifyWatches: 1,
		Routes:   []Route{{want().Subnets["podSubnet"][0], "eth0"}},
		Dropping: []string{"inet mine forward"},
	}

	w := want()
	w.IPv6, w.Memory = true, map[string]int64{"win-1": 8 << 30}
	for _, c := range Examine(bad, w) {
		if len(c.Findings) == 0 || (c.State != Failed && c.State != Warned) || c.Seen != "" {
			t.Errorf("of a bad machine: %+v", c)
		}
		for _, f := range c.Findings {
			if f.Check != c.Name || f.Problem == "" || f.Remedy == "" {
				t.Errorf("check %s has the finding %+v", c.Name, f)
			}
		}
	}

	all := Findings(Examine(bad, w))
	firstHint := slices.IndexFunc(all, func(f Finding) bool { return !f.Fatal })
	if firstHint < 1 || slices.ContainsFunc(all[firstHint:], func(f Finding) bool { return f.Fatal }) {
		t.Errorf("the fatal ones are not first: %+v", all)
	}
}

// TestUnreleased: a program that no release has gets a remedy of its own, and is not among those of a package.
func TestUnreleased(t *testing.T) {
	got := Findings(Examine(Facts{Own: []string{"mullion-node", unreleased}}, want()))
	var remedies []string
	for _, f := range got {
		if f.Check == "programs" && strings.Contains(f.Problem, "beside mullion") {
			remedies = append(remedies, f.Problem+": "+f.Remedy)
		}
	}

	if len(remedies) != 2 || !strings.Contains(remedies[0], "`make registry`") || strings.Contains(remedies[1], unreleased) {
		t.Errorf("%q", remedies)
	}
}
