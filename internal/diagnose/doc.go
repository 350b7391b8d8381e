// Package diagnose owns what is known of the troubles that Windows nodes of Kubernetes have: a table of probes, each
// with what the documents say of the trouble, what it looks at, its cause and its remedy. A probe is a pure function
// from a picture of a cluster to findings. The package looks at nothing itself: package gather does, and package report
// prints.
//
//	API, nodes ─▶ gather ─▶ Picture ─▶ Run(Probes()) ─▶ []Result ─▶ report
//
// It knows nothing of Mullion: the picture may be of any cluster.
package diagnose

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// Need is a part of a picture that a probe looks at besides the nodes.
type Need string

// The parts of a picture.
const (
	Pods            Need = "pods"
	Events          Need = "events"
	Services        Need = "services"
	EndpointSlices  Need = "endpointslices"
	NetworkPolicies Need = "networkpolicies"
	ConfigMaps      Need = "configmaps"
	GMSASpecs       Need = "gmsacredentialspecs"
	Logs            Need = "logs of network pods"
	Kubelets        Need = "kubelets' configuration"
	Facts           Need = "what the nodes say of themselves"
)

// Picture is what was seen of a cluster at one moment.
type Picture struct {
	At time.Time
	// Version is the API server's: "v1.37.1".
	Version string
	// Nodes are all nodes, of both systems.
	Nodes []corev1.Node
	// Chosen names the Windows nodes that are looked at; none: all of them.
	Chosen []string
	Pods   []corev1.Pod
	// Later names the folders of the pods that were there after the nodes had been asked (FolderNames).
	Later           []string
	Events          []corev1.Event
	Services        []corev1.Service
	EndpointSlices  []discoveryv1.EndpointSlice
	NetworkPolicies []networkingv1.NetworkPolicy
	// ConfigMaps are those of the network: kube-proxy's and flannel's.
	ConfigMaps []corev1.ConfigMap
	// GMSASpecs names the GMSACredentialSpecs; NoGMSA says that the cluster does not have that kind of object.
	GMSASpecs []string
	NoGMSA    bool
	// Logs are the last lines of the pods on Windows nodes that make the network.
	Logs []Log
	// Kubelets are by node.
	Kubelets map[string]Kubelet
	// Facts are by node, for the nodes that were asked.
	Facts map[string]NodeFacts
	// Missing says of a part why it could not be had.
	Missing map[Need]Lack
}

// Lack is why a part of a picture could not be had.
type Lack struct {
	Why string
	// Forbidden says that who looks may not see it; another may. Otherwise something went wrong.
	Forbidden bool
}

// Log is the end of a container's log.
type Log struct {
	Node      string
	Pod       string // namespace/name
	Container string
	Text      string
}

// Kubelet is what is asked of a kubelet's configuration.
type Kubelet struct {
	ClusterDNS    []string
	ClusterDomain string
}

// NodeFacts is what a Windows node says of itself.
type NodeFacts struct {
	// Hostname is the node's own name.
	Hostname string
	// Networks are those of HNS, if NetworksKnown.
	Networks      []HNSNetwork
	NetworksKnown bool
	// Processes are the command lines of kubelet.exe, kube-proxy.exe and flanneld.exe that run.
	Processes []string
	// Services are Windows services by name with their state: "Running", "Stopped".
	Services map[string]string
	// Files are small files by path, as far as they are there: CNI's configuration, flannel's and kube-proxy's state.
	Files map[string]string
	// Variables are the machine's.
	Variables map[string]string
	// PodFolders are the names of the kubelet's folders of pods, those that were there for the whole time of asking.
	PodFolders []string
}

// HNSNetwork is a network of a node's HNS.
type HNSNetwork struct {
	Name, Type string
	Subnets    []string
}

// Verdict is what a probe comes to.
type Verdict string

// The verdicts: the trouble is not there; it is; or what the probe looks at could not be had.
const (
	OK         Verdict = "ok"
	Found      Verdict = "found"
	CannotTell Verdict = "cannot tell"
)

// Source is a page that tells of the trouble, and its heading there.
type Source struct{ Heading, URL string }

// Probe looks for one trouble.
type Probe struct {
	// ID is the stable name, in kebab case.
	ID string
	// Title says what the trouble is.
	Title string
	// Items are the numbers of the troubleshooting items in the documents that it belongs to.
	Items []int
	// Source tells of the trouble.
	Source Source
	// Looks says what it looks at, for people.
	Looks string
	// Needs are the parts of the picture without which it cannot tell.
	Needs []Need
	// Cause and Remedies are those of each finding that has none of its own.
	Cause    string
	Remedies []string
	// look returns the findings.
	look func(*view) []Finding
}

// Finding is one place where a trouble is.
type Finding struct {
	// Object is what has it: "node win-1", "deployment default/web".
	Object string `json:"object"`
	// Evidence are lines that show it.
	Evidence []string `json:"evidence"`
	Cause    string   `json:"cause"`
	// Remedies are what a person can do; commands are in `backquotes`.
	Remedies []string `json:"remedies"`
}

// Result is what one probe came to.
type Result struct {
	Probe    *Probe
	Verdict  Verdict
	Findings []Finding
	// Why says what a probe that cannot tell lacks.
	Why string
}
