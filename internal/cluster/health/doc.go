// Package health owns what is said about how a cluster is. From what was seen of its parts, its nodes and its pods it
// makes a picture that says what is wrong, why, and what to do; and it prints that picture. It looks at nothing itself:
// package cluster does.
//
//	Observed (units, API objects, HNS, disks) ─▶ Judge ─▶ Picture ─▶ text, JSON
//
// A finding is a problem where the cluster itself does not do what it should; one problem makes the cluster unhealthy.
// It is a warning where something in the cluster needs a person and the cluster is not to blame: a pod whose image
// cannot be pulled, for example.
package health

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/runtime/admission"
	"mullion.dev/mullion/internal/spec"
)

// Observed is what was seen of a cluster at one moment. What could not be seen is empty, with the reason beside it.
type Observed struct {
	At   time.Time
	Spec spec.Cluster
	// Data is the cluster's data folder.
	Data string
	// Supervisor is what the supervisor answered. It is nil if the supervisor did not answer, for the reason
	// SupervisorError; Locked says that the supervisor lives all the same.
	Supervisor      *supervisor.Status
	SupervisorError string
	Locked          bool
	// Nodes and Pods are the API's, unless APIError says why there are none.
	Nodes    []corev1.Node
	Pods     []corev1.Pod
	APIError string
	// Policies is the number of NetworkPolicies in a cluster that does not carry them out.
	Policies int
	// WayOut6 says that the pods of a dual-stack cluster reach what is beyond it by IPv6, unless WayOut6Error says why
	// that is not known.
	WayOut6      bool
	WayOut6Error string
	// HNS has an entry for each Windows node whose agent was asked.
	HNS map[string]HNS
	// Load is how busy Windows nodes are with starting programs, if their agents say it.
	Load map[string]admission.Load
	// Own names, by node, the parts whose program is a person's own, and not upstream's: "kubelet", "kube-proxy".
	Own map[string][]string
	// Disks are the file systems that the cluster's state is on.
	Disks []Disk
}

// HNS is what a Windows node's agent says of its Host Networking Service.
type HNS struct {
	// Error is why it could not be asked.
	Error string
	// Differences say how the kernel differs from what HNS wants to have.
	Differences []string
	// Repairs counts how often the agent has put such differences right, and Repaired is what they were the last time.
	Repairs  int
	Repaired []string
	// Withheld is what HNS does not carry out, since it would take the node's kubelet from the control plane.
	Withheld []string
}

// Disk is a file system that state of the cluster lies on. Sizes are bytes.
type Disk struct {
	Path       string
	Free, Size uint64
}

// State is how a cluster is as a whole.
type State string

// The states: nothing runs it, it is on its way, it was asked to end, it works, or something does not.
const (
	Down      State = "down"
	Starting  State = "starting"
	Stopping  State = "stopping"
	Healthy   State = "healthy"
	Unhealthy State = "unhealthy"
)

// Picture is what a person, or a script, is told.
type Picture struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// Findings are what is wrong: problems first, each cause before what follows from it.
	Findings []Finding `json:"findings"`
	// Parts are the parts of the cluster that belong to no node.
	Parts []Part `json:"parts"`
	Nodes []Node `json:"nodes"`
	Pods  Pods   `json:"pods"`
	// NetworkPolicies says who carries NetworkPolicies out, "" in a cluster that Mullion did not make.
	NetworkPolicies string `json:"networkPolicies,omitempty"`
	// IPv6 says what a dual-stack cluster's pods reach by IPv6, "" in another cluster.
	IPv6 string `json:"ipv6,omitempty"`
	// Unknown says why nodes and pods are not known, empty when they are.
	Unknown string `json:"unknown,omitempty"`
}

// Severity says whether a finding makes the cluster unhealthy.
type Severity string

// The severities.
const (
	Problem Severity = "problem"
	Warning Severity = "warning"
)

// Finding is one thing that is wrong.
type Finding struct {
	Severity Severity `json:"severity"`
	// Object is what it is about: "kube-apiserver", "node win-1", "pod default/web".
	Object string `json:"object"`
	// What is wrong, and Do what a person can do about it.
	What string `json:"what"`
	Do   string `json:"do"`
}

// The states of a part besides those of its unit.
const (
	// NotAnswering is the state of a part that runs and does not work.
	NotAnswering component.State = "not answering"
	// Differs is the state of an HNS that works, on a node whose network is not yet as HNS wants it.
	Differs component.State = "differs"
)

// Part is how one component is.
type Part struct {
	ID component.ID `json:"name"`
	// State is the unit's, NotAnswering or Differs; "" for a part that this node does not have.
	State component.State `json:"state"`
	OK    bool            `json:"ok"`
	Why   string          `json:"why,omitempty"`
	// Note is what it says of itself while it works.
	Note string `json:"note,omitempty"`
	// Own says that its program is a person's own, and not upstream's.
	Own      bool `json:"own,omitempty"`
	PID      int  `json:"pid,omitempty"`
	Restarts int  `json:"restarts,omitempty"`
	// Seconds is how long it took to come up.
	Seconds float64 `json:"seconds,omitempty"`

	reason component.Reason
}

// Node is how one node is. The parts of a node of another machine are not known: they are empty.
type Node struct {
	Name string `json:"name"`
	OS   string `json:"os"`
	// Version is the system's and its kernel's: "Windows Server 2022 Datacenter 10.0.20348.2762".
	Version string `json:"version"`
	Kubelet string `json:"kubeletVersion,omitempty"`
	Address string `json:"address,omitempty"`
	// Bare says that it is a bare host: whether it is a node is a person's business.
	Bare bool `json:"bare,omitempty"`
	// Ready is the node's condition: "True", "False", "Unknown", or "" when the API does not know the node.
	Ready string `json:"ready"`
	Why   string `json:"why,omitempty"`
	// PodsReady of PodsAll pods that are to run on it are Ready.
	PodsReady int `json:"podsReady"`
	PodsAll   int `json:"podsAll"`
	// Parts are by column: network, host, runtime, hns, kubelet, kube-proxy.
	Parts map[string]Part `json:"parts"`
}

// Pods counts pods by their state and names those that fail.
type Pods struct {
	Total   int `json:"total"`
	Ready   int `json:"ready"`
	Done    int `json:"done"`
	Failing int `json:"failing"`
	Waiting int `json:"waiting"`
	// Lost counts the pods on nodes that are not Ready: what the API says of them is out of date.
	Lost  int           `json:"lost"`
	Fails []PodsFailing `json:"fails,omitempty"`
}

// PodsFailing are pods of one owner that fail for the same reason.
type PodsFailing struct {
	// Owner is "deployment default/web" or, for a pod of its own, "pod default/web".
	Owner  string   `json:"owner"`
	Reason string   `json:"reason"`
	Why    string   `json:"why,omitempty"`
	Pods   []string `json:"pods"`
	Nodes  []string `json:"nodes,omitempty"`
}
