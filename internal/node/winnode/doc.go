// Package winnode owns a Windows host as parts of a cluster: the files on its C: drive, the configuration and flags of
// the unmodified kubelet.exe and kube-proxy.exe, and the components that bring the host up in order. It owns neither
// namespaces (package winhost), nor Wine (package wine), nor what serves HNS and CRI (package agent), nor the host's
// network.
//
//	wine ─▶ prefix/NODE ─▶ host/NODE ─▶ agent/NODE ─▶ kubelet/NODE ─▶ kube-proxy/NODE
//	        overlay, files  namespaces   mullion-node   mullion-service.exe each, which keeps
//	                                                    kubelet.exe and kube-proxy.exe as services
//	                                     serve   └──▶ pipes/NODE
//	                                                   mullion-pipe.exe
//
// A bare host (Config.Bare) ends with agent/NODE and pipes/NODE. One with Docker's engine (Config.Docker) is bare, and
// ends with dockerd/NODE, which is upstream's dockerd.exe. With Config.Containerd the kubelet's container runtime is
// containerd/NODE, upstream's containerd.exe, which makes containers by agent/NODE's Host Compute Service:
//
//	agent/NODE ─▶ pipes/NODE ─▶ containerd/NODE ─▶ kubelet/NODE
//
// The prefix outlives the supervisor, since containers have volumes out of it; it is unmounted with everything else of
// the data folder when the cluster is taken down.
package winnode

import (
	"errors"
	"fmt"
	"path/filepath"

	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/winver"
)

// Ports on the loopback of the host's own network namespace.
const (
	HNSPort = 10290
	CRIPort = 10291
)

// Config is what a Windows host depends on. All paths are absolute paths of the machine.
type Config struct {
	kubenode.Config
	// Build of Windows that the host is.
	Build winver.Build
	// Processors are those that the host shows.
	Processors spec.Processors
	// Places is how many programs may start at once on the node.
	Places int
	// Memory is what the node has of the machine's memory, in bytes; 0: it shows the machine's.
	Memory int64
	// PauseImage is the image of the pods' pause containers; empty: they have none.
	PauseImage spec.PauseImage
	// Administrators is the group of the machine that the administrators of containers are in.
	Administrators int
	// Domains are those for whose accounts the machine has keys.
	Domains []spec.Domain
	// NodeProgram is the mullion-node program, Kubernetes the folder of kubelet.exe and kube-proxy.exe, Programs that
	// of the CNI plugins.
	NodeProgram string
	Kubernetes  string
	Programs    string
	// Docker is the folder of dockerd.exe, which runs on the host in place of all that is Kubernetes'; "": none does.
	Docker string
	// Containerd is the folder of containerd.exe and what belongs to it (ContainerdPrograms), which is the node's
	// container runtime; "": Mullion's own is.
	Containerd string
	// ProgramsDir is where the layer with upstream's programs is made; hosts share it.
	ProgramsDir string
	// System is the Wine system layer; it is asked for when the prefix starts, after the units in After.
	System func() *wine.System
	// ContainerdSocket is the engine's, ContainerdNamespace the containerd namespace. The host's containers are in the
	// host's cgroup.
	ContainerdSocket    string
	ContainerdNamespace string
	// Network is the kind of network that pods have.
	Network agentconfig.Network
	// EnableDSR is kube-proxy's --enable-dsr.
	EnableDSR bool
}

// Prefix returns the mount point of a host's Wine prefix. dir is the host's folder of state.
func Prefix(dir string) string { return filepath.Join(dir, "prefix") }

// HostFile returns the file that describes that host, for winhost.Load.
func HostFile(dir string) string { return filepath.Join(dir, "host.json") }

// PolicySocket returns the socket at which that host's pods get their network policies. runDir is the host's
// Config.RunDir.
func PolicySocket(runDir string) string { return filepath.Join(runDir, "policy.sock") }

// TokenFile returns the file with the token that programs of that host present to the HNS server; it is on the host's
// C:.
func TokenFile(dir string) string { return filepath.Join(wine.Drive(Prefix(dir)), tokenFile) }

// Drive returns the C: of that host, as a path of the machine.
func Drive(dir string) string { return wine.Drive(Prefix(dir)) }

// Identity returns the client certificate of that host's kubelet.
func Identity(dir string) kubenode.Identity {
	return kubenode.Identity{Dir: filepath.Join(wine.Drive(Prefix(dir)), kubenode.KubeletCertDir)}
}

// tokenFile is the token's place on C:.
const tokenFile = "/ProgramData/Mullion/hns.token"

// processorsFile says on C: which processors the host shows.
const processorsFile = "/ProgramData/Mullion/processors"

// drive returns the host's C: as a path of the machine.
func (c Config) drive(parts ...string) string {
	return filepath.Join(append([]string{wine.Drive(Prefix(c.Dir))}, parts...)...)
}

// node returns the node's configuration with what only Windows nodes need.
func (c Config) node() kubenode.Node {
	return kubenode.Node{
		Config: c.Config,
		OS:     spec.Windows,
		Root:   c.drive(),
		File:   func(path string) (string, error) { return wine.UnixPath(c.drive(), path) },
		Tweak:  c.tweakKubelet,
	}
}

// Host describes the host's namespaces and how Windows programs are run in them.
func (c Config) Host(s *wine.System) winhost.Host {
	h := winhost.Host{
		Name:      c.Name,
		Netns:     c.Netns,
		StateFile: filepath.Join(c.RunDir, "host-state.json"),
		Root:      filepath.Join(c.RunDir, "root"),
		Tmp:       filepath.Join(c.RunDir, "tmp"),
		Shared:    filepath.Join(c.RunDir, "hpc"),
		Shares:    agentconfig.SharesDir(c.RunDir),
		Volumes:   agentconfig.VolumesDir(c.RunDir),
		Programs:  s.Install.Elsewhere(),
		Folders: []string{
			Prefix(c.Dir), agentconfig.HostProcessWork(c.RunDir), agentconfig.PipesDir(c.RunDir),
		},
		Loader: s.LoaderArgv(),
		Env:    s.HostEnv(Prefix(c.Dir)),
		Dir:    c.drive(),
	}

	h.Beside = c.HostsCgroup
	if c.Memory > 0 {
		h.Cgroup = c.Cgroup
	}
	for _, name := range []string{"passwd", "group", "hosts", "resolv.conf", "nsswitch.conf"} {
		h.Binds = append(h.Binds, winhost.Bind{Source: c.etc(name), Target: "/etc/" + name})
	}

	if c.Marker != "" {
		h.Env = append(h.Env, "MULLION_CLUSTER="+c.Marker)
	}
	return h
}

// etc returns a file that the host sees in its /etc.
func (c Config) etc(name string) string { return filepath.Join(c.Dir, "etc", name) }

// Validate tells what is missing.
func (c Config) Validate() error {
	own := []kubenode.Setting{{Name: "Kubernetes", Value: c.Kubernetes}, {Name: "Server", Value: c.Server}}
	if c.Docker != "" {
		own = nil
	}

	err := c.Config.Validate("windows host", append(own,
		kubenode.Setting{Name: "Build", Value: c.Build.Name},
		kubenode.Setting{Name: "NodeProgram", Value: c.NodeProgram},
		kubenode.Setting{Name: "Programs", Value: c.Programs},
		kubenode.Setting{Name: "ProgramsDir", Value: c.ProgramsDir},
	)...)
	if c.System == nil {
		return errors.Join(err, fmt.Errorf("check windows host %q: System is not set", c.Name))
	}

	return errors.Join(err, c.node().Check(c.HasProxy()))
}
