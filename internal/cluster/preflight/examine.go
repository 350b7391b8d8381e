package preflight

import (
	"fmt"
	"slices"
	"strings"
)

// State is how a check ended.
type State string

// States of a check, the worst last but for Unseen, which is neither good nor bad.
const (
	Passed State = "passed"
	Unseen State = "unseen" // what it looks at is hidden from an ordinary user
	Warned State = "warned" // a cluster comes up and will lack something
	Failed State = "failed" // a cluster cannot come up
)

// Check is one subject that was looked at.
type Check struct {
	Name  string `json:"check"`
	State State  `json:"state"`
	// Means says what a cluster needs of the subject, and why.
	Means string `json:"means"`
	// Seen says what is there.
	Seen string `json:"seen,omitempty"`
	// NotSeen says what could not be looked at, in a check of any state.
	NotSeen  string    `json:"notSeen,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
}

// subject is a row of the table of checks.
type subject struct {
	name, means string
	judge       []func(Facts, Want) []Finding
	seen        func(Facts, Want) string
	// hidden says what an ordinary user cannot see of it; nil: sees all.
	hidden func(Facts) string
	// applies leaves out what this cluster does not need; nil: every cluster does.
	applies func(Want) bool
}

type judge = []func(Facts, Want) []Finding

// only returns a function that says what an ordinary user cannot see, whatever the facts are.
func only(what string) func(Facts) string { return func(Facts) string { return what } }

// subjects returns what Examine looks at, in the order in which a person reads it.
func subjects() []subject { return append(abilities(), resources()...) }

// abilities returns what the machine has to be able to do.
func abilities() []subject {
	return []subject{
		{
			name:  "kernel",
			means: "the drives of Windows containers are overlays on ID-mapped layers, which Linux has since 5.19",
			judge: judge{kernel},
			seen:  func(f Facts, _ Want) string { return "Linux " + f.Kernel },
		},
		{
			name:   "programs",
			means:  "a cluster runs nftables, nsenter and Wine of the distribution, and the programs that lie beside mullion",
			judge:  judge{programs, preloader},
			seen:   func(Facts, Want) string { return "all are there" },
			hidden: func(f Facts) string { return among("whether these are there: ", f.Hidden) },
		},
		{
			name:  "namespaces",
			means: "every host and every container is made of namespaces; a Windows container needs a user namespace",
			judge: judge{namespaces},
			seen:  func(Facts, Want) string { return "the kernel has all kinds, and user namespaces are allowed" },
		},
		{
			name:  "folders",
			means: "containers' drives are overlays in the data folder, and programs run from there",
			judge: judge{folders},
			seen: func(f Facts, _ Want) string {
				return fmt.Sprintf("%s is on %s", f.DataFolder.Path, f.DataFolder.Type)
			},
			hidden: hiddenFolder,
		},
		{
			name:   "cgroups",
			means:  "kubelets keep pods within their limits by cgroups",
			judge:  judge{cgroups},
			seen:   func(Facts, Want) string { return "cpu, cpuset, memory and pids are enabled" },
			hidden: only("whether a cgroup can be made"),
		},
		{
			name:   "network",
			means:  "nodes and pods are joined by bridges, veth links and VXLAN links, and reached by rules of nftables",
			judge:  judge{network},
			seen:   func(Facts, Want) string { return "links and tables of each kind can be made" },
			hidden: only("whether bridges, veth links, VXLAN links and tables of nftables can be made"),
		},
		{
			name:  "seccomp",
			means: "the filter of system calls is part of what isolates containers",
			judge: judge{seccomp},
			seen:  func(Facts, Want) string { return "the kernel filters system calls" },
		},
		{
			name:   "core-files",
			means:  "where a program of the machine takes core files, the kernel runs it as root for what crashes in a container",
			judge:  judge{coreFiles},
			seen:   func(f Facts, _ Want) string { return seenCoreFiles(f) },
			hidden: hiddenCoreFiles,
		},
		{
			name:  "apparmor",
			means: "a profile that confines mullion may forbid the mounts that a cluster needs",
			judge: judge{apparmor},
			seen:  func(Facts, Want) string { return "no profile confines this process" },
		},
		{
			name:   "selinux",
			means:  "Wine executes memory that it has written, which a policy may refuse",
			judge:  judge{selinux},
			seen:   func(f Facts, _ Want) string { return f.SELinux.text() },
			hidden: hiddenSELinux,
		},
	}
}

// resources returns what the machine has to have, and to let the cluster have.
func resources() []subject {
	return []subject{
		{
			name:    "node-memory",
			means:   "a node cannot have more memory than the machine can spare",
			judge:   judge{nodeMemory},
			seen:    func(f Facts, _ Want) string { return fmt.Sprintf("the machine has %d MiB", f.MemoryTotal/mib) },
			applies: func(w Want) bool { return len(w.Memory) > 0 },
		},
		{
			name:  "memory",
			means: "the control plane and each node use memory before any pod runs",
			judge: judge{memory},
			seen: func(f Facts, w Want) string {
				return fmt.Sprintf("%d MiB are available; %d nodes use about %d MiB", f.MemoryAvailable/mib, w.Nodes, needed(w)/mib)
			},
		},
		{
			name:  "disk",
			means: "the first start writes to the data folder, and images need room there; kubelets evict pods from a full disk",
			judge: judge{disk},
			seen: func(f Facts, _ Want) string {
				return fmt.Sprintf("%d MiB are free in %s", f.DataFolder.Free/mib, f.DataFolder.Path)
			},
			hidden: hiddenDisk,
		},
		{
			name:  "inotify",
			means: "kubelets and containerd watch files; with too few watches they end with \"too many open files\"",
			judge: judge{inotify},
			seen: func(f Facts, _ Want) string {
				return fmt.Sprintf("%d instances and %d watches for each user", f.InotifyInstances, f.InotifyWatches)
			},
		},
		{
			name:  "subnets",
			means: "a subnet that the machine uses already hides that network from pods",
			judge: judge{subnets},
			seen:  func(Facts, Want) string { return "no network of this machine overlaps those of pods and Services" },
		},
		{
			name:    "ipv6",
			means:   "a dual-stack cluster needs IPv6 in the machine's kernel",
			judge:   judge{ipv6},
			seen:    func(Facts, Want) string { return "the kernel has it" },
			applies: func(w Want) bool { return w.IPv6 },
		},
		{
			name:   "firewall",
			means:  "pods reach what is beyond this machine only if its firewall lets it forward their packets",
			judge:  judge{firewall},
			seen:   func(Facts, Want) string { return "no chain of nftables drops what this machine forwards" },
			hidden: only("whether the firewall drops what this machine forwards"),
		},
	}
}

// among returns a sentence about names, "" without names.
func among(begin string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return begin + strings.Join(names, ", ")
}

func seenCoreFiles(f Facts) string {
	if f.CoreProgram == "" {
		return "no program takes them"
	}
	return f.CoreProgram + " takes them, and none from containers"
}

func hiddenCoreFiles(f Facts) string {
	if f.CoreProgram == "" {
		return ""
	}
	return "whether root may keep " + f.CoreProgram + " from running for containers"
}

func hiddenFolder(f Facts) string {
	what := "whether an overlay, also one with ID mapping, can be mounted in " + f.DataFolder.Path
	if f.DataFolder.Unread != nil {
		what += ", and what file system that is"
	}
	return what
}

func hiddenDisk(f Facts) string {
	if f.DataFolder.Unread == nil {
		return ""
	}
	return "how much is free in " + f.DataFolder.Path
}

// Examine judges the facts, one check for each subject that matters to the cluster.
func Examine(f Facts, w Want) []Check {
	var all []Check
	for _, s := range subjects() {
		if s.applies != nil && !s.applies(w) {
			continue
		}
		c := Check{
			Name:  s.name,
			Means: s.means,
			State: Passed,
		}

		for _, judge := range s.judge {
			c.Findings = append(c.Findings, judge(f, w)...)
		}

		if f.Unprivileged && s.hidden != nil {
			c.NotSeen = s.hidden(f)
		}

		switch {
		case len(Fatal(c.Findings)) > 0:
			c.State = Failed
		case len(c.Findings) > 0:
			c.State = Warned
		case c.NotSeen != "":
			c.State = Unseen
		default:
			c.Seen = s.seen(f, w)
		}

		all = append(all, c)
	}

	return all
}

// Findings returns what checks found, the fatal findings first.
func Findings(checks []Check) []Finding {
	var all []Finding
	for _, c := range checks {
		all = append(all, c.Findings...)
	}

	slices.SortStableFunc(all, func(a, b Finding) int {
		switch {
		case a.Fatal && !b.Fatal:
			return -1
		case b.Fatal && !a.Fatal:
			return 1
		}
		return 0
	})

	return all
}

// Judge says which facts will hinder a cluster, the fatal findings first.
func Judge(f Facts, w Want) []Finding { return Findings(Examine(f, w)) }
