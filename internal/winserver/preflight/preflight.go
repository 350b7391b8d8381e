// Package preflight owns what a Windows Server needs before it can join a cluster: checks as data, each a judgement of
// Facts with evidence and a remedy. It looks at nothing itself; package local gathers the facts.
package preflight

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"mullion.dev/mullion/internal/windows/winver"
)

// Facts are what is known of a server.
type Facts struct {
	// Version is what RtlGetVersion and the registry answer; Server says that it is a Windows Server.
	Version winver.Version
	Server  bool
	Admin   bool
	// HNS is the version that the Host Networking Service answers, HNSError why it does not.
	HNS      winver.HNSVersion
	HNSError string
	// Containers says that the feature Containers is installed: its service vmcompute is there.
	Containers bool
	// Runtime is the endpoint of the container runtime that is to be used, "" if the agent installs containerd;
	// RuntimeError is why it does not answer.
	Runtime, RuntimeError string
	// Taken are the ports of kubelet and kube-proxy on which something listens.
	Taken []int
	// Free is the room on C: in bytes.
	Free uint64
	Name string
	// Left are files and services of an earlier node; Node is the node that the agent has made of the server.
	Left []string
	Node string
	// Reach is the API server that was tried, "" for none; ReachError is why it was not reached.
	Reach, ReachError string
}

// Outcome is how a check ends.
type Outcome string

// The outcomes. Fail keeps a server from joining, Warn does not.
const (
	Pass Outcome = "pass"
	Warn Outcome = "warn"
	Fail Outcome = "fail"
)

// Result is a check that has been made. Remedy is empty if it passed.
type Result struct {
	ID       string  `json:"id"`
	Outcome  Outcome `json:"outcome"`
	Evidence string  `json:"evidence"`
	Remedy   string  `json:"remedy,omitempty"`
}

// minFree is the room on C: that programs, images and pods take at the least; Microsoft's smallest base images alone
// take several gigabytes.
const minFree = 10 << 30

// oldest is the oldest build that kubelets of the supported versions run on, Windows Server 2019
// (https://kubernetes.io/docs/concepts/windows/intro/#windows-os-version-support).
const oldest = 17763

// Judge makes every check.
func Judge(f Facts) []Result {
	var all []Result
	for _, c := range []struct {
		id    string
		check func(Facts) (Outcome, string, string)
	}{
		{"windows-build", build},
		{"administrator", admin},
		{"containers-feature", containers},
		{"hns", hns},
		{"container-runtime", runtime},
		{"ports", ports},
		{"disk", disk},
		{"node-name", name},
		{"leftovers", leftovers},
		{"api-server", reach},
	} {
		outcome, evidence, remedy := c.check(f)
		if outcome == Pass {
			remedy = ""
		}
		all = append(all, Result{c.id, outcome, evidence, remedy})
	}

	return all
}

// Failed reports whether a check keeps the server from joining.
func Failed(all []Result) bool {
	for _, r := range all {
		if r.Outcome == Fail {
			return true
		}
	}
	return false
}

func build(f Facts) (Outcome, string, string) {
	is := f.Version.String()
	known, err := winver.Lookup(fmt.Sprint(f.Version.Build))
	switch {
	case f.Version.Build < oldest:
		return Fail, "Windows " + is + " is older than Windows Server 2019", "use Windows Server 2019, 2022 or 2025"
	case !f.Server:
		return Fail, "Windows " + is + " is not a Windows Server", "use Windows Server 2019, 2022 or 2025"
	case err != nil:
		return Warn, "Windows " + is + " is a build that this agent does not know",
			"Kubernetes tests Windows Server 2019, 2022 and 2025; join if you know that images for this build exist"
	}
	return Pass, known.ProductName + ", " + is, ""
}

func admin(f Facts) (Outcome, string, string) {
	if f.Admin {
		return Pass, "this process has an administrator's rights", ""
	}
	return Fail, "this process has no administrator's rights", `open the prompt with "Run as administrator"`
}

func containers(f Facts) (Outcome, string, string) {
	switch {
	case f.Containers:
		return Pass, "service vmcompute is there", ""
	case f.Runtime != "":
		return Warn, "service vmcompute is not there; the container runtime is one that you have named",
			"Install-WindowsFeature Containers, and restart, unless that runtime needs none"
	}
	return Fail, "service vmcompute is not there", "Install-WindowsFeature Containers, and restart"
}

func hns(f Facts) (Outcome, string, string) {
	remedy := "Install-WindowsFeature Containers; Start-Service hns"
	switch v := f.HNS; {
	case f.HNSError != "":
		return Fail, "the Host Networking Service does not answer: " + f.HNSError, remedy
	case v.Major < 9 || (v.Major == 9 && v.Minor < 2):
		return Fail, fmt.Sprintf("HNS is of version %d.%d, kube-proxy.exe needs 9.2 or newer", v.Major, v.Minor),
			"update Windows"
	default:
		return Pass, fmt.Sprintf("HNS answers, version %d.%d", v.Major, v.Minor), ""
	}
}

func runtime(f Facts) (Outcome, string, string) {
	switch {
	case f.Runtime == "":
		return Pass, "containerd comes from the bundle", ""
	case f.RuntimeError != "":
		return Fail, f.Runtime + " does not answer: " + f.RuntimeError,
			"start the container runtime, or leave --runtime-endpoint out and have the agent install containerd"
	}
	return Pass, f.Runtime + " answers", ""
}

func ports(f Facts) (Outcome, string, string) {
	if len(f.Taken) == 0 {
		return Pass, "TCP 10250 (kubelet) and 10256 (kube-proxy) are free", ""
	}
	if f.Node != "" {
		return Pass, fmt.Sprintf("TCP %v are in use, by the node that this server is", f.Taken), ""
	}
	return Fail, fmt.Sprintf("something listens on TCP %v", f.Taken),
		"Get-NetTCPConnection -LocalPort PORT names the process; stop it"
}

func disk(f Facts) (Outcome, string, string) {
	is := fmt.Sprintf("C: has %.1f GiB of free room", float64(f.Free)/(1<<30))
	if f.Free < minFree {
		return Warn, is,
			fmt.Sprintf("make room: images for Windows take gigabytes each; %d GiB are little", minFree>>30)
	}
	return Pass, is, ""
}

func name(f Facts) (Outcome, string, string) {
	if errs := validation.IsDNS1123Subdomain(f.Name); len(errs) > 0 {
		return Fail, fmt.Sprintf("%q cannot be a node's name: %s", f.Name, errs[0]), "name another with --node-name"
	}
	return Pass, "the node's name is " + f.Name, ""
}

func leftovers(f Facts) (Outcome, string, string) {
	switch {
	case f.Node != "":
		return Warn, "this server is node " + f.Node + " already",
			"join goes on with that; mullion-agent.exe leave ends it"
	case len(f.Left) > 0:
		return Fail, "an earlier node has left " + strings.Join(f.Left, ", "),
			"remove them (kubeadm.exe reset, sc.exe delete), or this server joins with another's identity"
	}
	return Pass, "nothing of an earlier node is here", ""
}

func reach(f Facts) (Outcome, string, string) {
	switch {
	case f.Reach == "":
		return Pass, "no API server was named (--server), so none was tried", ""
	case f.ReachError != "":
		return Fail, f.Reach + ": " + f.ReachError,
			"open the server's TCP port in firewalls between, and set both clocks"
	}
	return Pass, f.Reach + " answers, and the clocks agree", ""
}
