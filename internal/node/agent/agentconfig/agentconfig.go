// Package agentconfig owns the shape of the file that tells `mullion-node serve` about its Windows host. It is plain
// data, so the program that writes the file need not link the code that acts on it.
package agentconfig

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
)

// Config is what the agent of one Windows host needs. All paths are absolute paths of the machine.
type Config struct {
	// Node is the node's name and Address its address on the underlay.
	Node    string     `json:"node"`
	Address netip.Addr `json:"address"`
	// Windows is the build's name in the catalogue.
	Windows string `json:"windows"`
	// HostFile describes the host's namespaces for winhost.Load; Drive is its C:.
	HostFile string `json:"hostFile"`
	Drive    string `json:"drive"`
	// LocalVolumes is the folder below C: in which each folder is a volume of the StorageClass local.
	LocalVolumes string `json:"localVolumes"`
	// SystemDir is the Wine system layer, for wine.Open.
	SystemDir string `json:"systemDir"`
	// StateDir is the folder of state of the host, RunDir of what does not survive a reboot.
	StateDir string `json:"stateDir"`
	RunDir   string `json:"runDir"`
	// HNS and CRI are where the servers listen, on the loopback of the host's network namespace, in which the agent
	// runs. CRI is the kubelet's; see CRISocket.
	HNS netip.AddrPort `json:"hns"`
	CRI netip.AddrPort `json:"cri"`
	// TokenFile holds what clients of the HNS server present.
	TokenFile string `json:"tokenFile"`
	// ContainerdSocket, ContainerdNamespace and CgroupParent are the engine's.
	ContainerdSocket    string `json:"containerdSocket"`
	ContainerdNamespace string `json:"containerdNamespace"`
	CgroupParent        string `json:"cgroupParent"`
	// PodSubnet, ServiceSubnet and NodeSubnet are the cluster's: traffic to them is not translated on its way out.
	PodSubnet     netip.Prefix `json:"podSubnet"`
	ServiceSubnet netip.Prefix `json:"serviceSubnet"`
	NodeSubnet    netip.Prefix `json:"nodeSubnet"`
	// IPv6 are the same subnets of IPv6; they are set where the host's pods have both families.
	IPv6 Subnets `json:"ipv6,omitzero"`
	// Network is the kind of network that the host's pods have.
	Network Network `json:"network"`
	// PolicySocket is where pods get their network policies before they start (package network/policy/cover); empty
	// where policies are not carried out.
	PolicySocket string `json:"policySocket,omitempty"`
	// PauseImage is the image of the pods' pause containers; empty: they have none.
	PauseImage spec.PauseImage `json:"pauseImage,omitempty"`
	// Processors is how many the host shows; 0: the machine's.
	Processors int `json:"processors,omitempty"`
	// Places is how many programs may start at once on the node, for it shares the processors with the machine's other
	// nodes (package runtime/admission); 0: as many as the processors carry.
	Places int `json:"places,omitempty"`
	// Memory is what the node has of the machine's memory, in bytes; 0: all of it. Then CgroupParent is limited to it.
	Memory int64 `json:"memory,omitempty"`
	// Domains are those for whose accounts the machine has keys.
	Domains []spec.Domain `json:"domains,omitempty"`
	// PullDirect is what is pulled without the proxy that the host's variables name, in the form of NO_PROXY.
	PullDirect string `json:"pullDirect,omitempty"`
	// RegistryAuths are credentials of registries for pods that bring none, by the host that is spoken to.
	RegistryAuths map[string]spec.RegistryAuth `json:"registryAuths,omitempty"`
	// LogLevelFile holds how much the agent logs while nobody holds its log at a lower level, for logging.Load.
	LogLevelFile string `json:"logLevelFile,omitempty"`
}

// CRIStateDir returns the folder of what the CRI server remembers, in a host's folder of state.
func CRIStateDir(stateDir string) string { return filepath.Join(stateDir, "cri") }

// RegistriesDir returns the folder, in a host's folder of state, that says how registries are reached: HOST/hosts.toml.
func RegistriesDir(stateDir string) string { return filepath.Join(stateDir, "registries") }

// CRIRunDir returns the CRI server's folder in the RunDir.
func CRIRunDir(runDir string) string { return filepath.Join(runDir, "cri") }

// HostProcessWork returns the folder below the RunDir that has the working folders of HostProcess containers. The host
// sees it at the same path.
func HostProcessWork(runDir string) string { return filepath.Join(CRIRunDir(runDir), "work") }

// PipesDir returns the folder below the RunDir with the sockets between the host's named pipes and Linux programs. The
// host sees it at the same path; containers do not, HostProcess containers neither.
func PipesDir(runDir string) string { return filepath.Join(runDir, "pipes") }

// CRISocket returns where the CRI server listens for the host's pipe.
func CRISocket(runDir string) string { return filepath.Join(PipesDir(runDir), "cri.sock") }

// NamedSocket leads to the host's pipes, by piperelay.Ask.
func NamedSocket(runDir string) string { return filepath.Join(PipesDir(runDir), "named.sock") }

// ServiceSocket returns where programs of the host ask for a service of the host, by the host's pipe.
func ServiceSocket(runDir string, service hostcall.Name) string {
	return filepath.Join(PipesDir(runDir), string(service)+".sock")
}

// OperatorSocket returns where the machine's operator asks for a service of the host, who may ask for more. Windows
// programs do not see it.
func OperatorSocket(runDir string, service hostcall.Name) string {
	return filepath.Join(runDir, string(service)+".sock")
}

// SharesDir returns where the SMB shares of a host are mounted. The host and its HostProcess containers see it at the
// same path.
func SharesDir(runDir string) string { return filepath.Join(runDir, "shares") }

// DisksDir returns the folder of the files of the host's data disks, in a host's folder of state.
func DisksDir(stateDir string) string { return filepath.Join(stateDir, "disks") }

// VolumesDir returns where the volumes of those disks are mounted. The host and its HostProcess containers see it at
// the same path.
func VolumesDir(runDir string) string { return filepath.Join(runDir, "volumes") }

// ISCSIStateDir returns the folder of what the initiator remembers, in a host's folder of state. It has secrets.
func ISCSIStateDir(stateDir string) string { return filepath.Join(stateDir, "iscsi") }

// ISCSIDir returns where the disks of the initiator's sessions are mounted, as files. The host does not see it.
func ISCSIDir(runDir string) string { return filepath.Join(runDir, "iscsi") }

// Subnets are a cluster's subnets of one address family.
type Subnets struct {
	Pods     netip.Prefix `json:"pods"`
	Services netip.Prefix `json:"services"`
	Nodes    netip.Prefix `json:"nodes"`
}

// Network is the kind of network that a host's pods have.
type Network struct {
	Mode    spec.Mode    `json:"mode"`
	Profile spec.Profile `json:"profile"`
	// Shared is the host's part of the underlay in mode transparent.
	Shared Shared `json:"shared,omitzero"`
	// NoCNI leaves the host without CNI plugins and configuration: somebody else installs them.
	NoCNI bool `json:"noCNI,omitempty"`
}

// Shared is a range of the underlay that one host gives to its pods.
type Shared struct {
	Subnet  netip.Prefix `json:"subnet"`
	Gateway netip.Addr   `json:"gateway"`
	First   netip.Addr   `json:"first"`
	Last    netip.Addr   `json:"last"`
}

// Load reads a configuration that Save wrote.
func Load(path string) (Config, error) {
	var c Config
	data, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("load agent's configuration: %w", err)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("load agent's configuration %q: %w", path, err)
	}
	return c, nil
}

// Save writes the configuration whole or not at all.
func (c Config) Save(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("save configuration of agent %q: %w", c.Node, err)
	}
	return atomicfile.WriteJSON(path, c)
}
