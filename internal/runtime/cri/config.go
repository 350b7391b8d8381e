package cri

import (
	"context"
	"log/slog"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/admission"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/hostpipes"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/windows/sam"
	"mullion.dev/mullion/internal/windows/wire/credspec"
)

// Config is what a Server needs. All paths are absolute paths of the machine unless said otherwise.
type Config struct {
	// Node is the name of the Windows host; containers of other nodes in the same engine are left alone.
	Node string
	// StateDir holds the checkpoints and the containers' working files; it survives the server. Every folder above it
	// may be closed to others.
	StateDir string
	// RunDir holds sockets and FIFOs; it may be gone after a boot.
	RunDir string
	// HostProcessWork holds the working folders of HostProcess containers. The Windows host sees it at the same path,
	// since its wineserver opens the files in it.
	HostProcessWork string
	// Stream is where exec, attach and port-forward are served: an address that the kubelet can reach and pods cannot.
	// Requests are admitted by one-time tokens. The server closes it.
	Stream net.Listener
	// Keeper is the command line of the keeper process, to which the socket's path is appended; the process must call
	// stream.Serve. Package stream says why it is a process of its own.
	Keeper []string

	// Engine runs containers; in production an *engine.Engine.
	Engine Engine
	// Images holds images; in production an *image.Store.
	Images Images
	// Network connects pods; in production package podnet.
	Network Network
	// HostPath translates a path of the Windows host (the log folder) to one of the machine.
	HostPath func(winPath string) (string, error)
	// OpenSource opens what a container mounts by its path in the Windows host; a missing folder is made. A path that
	// begins in a volume (see VolumePatterns) must not lead out of it.
	OpenSource func(winPath string) (*os.File, error)

	// HostPipe connects to a named pipe of the Windows host for a container's user; nil: no pipes can be mounted.
	HostPipe hostpipes.Connect

	// Domains logs containers on to their domains; nil: the node has keys for none.
	Domains Domains
	// Shares mounts the SMB shares that a container's programs use as the account of its credential spec; nil: they use
	// none.
	Shares func(ctx context.Context, s ShareUser) (*os.File, error)
	// HostProcess says where HostProcess containers run; nil refuses them.
	HostProcess *HostProcess
	// Processors is how many the Windows host shows; 0: the machine's. Those of an affinity are the host's: each stands
	// for one of the machine, in turn, and for a part of its time.
	Processors int
	// OneContainer says that the host's Windows lets no two containers share a network, so a pod has one at a time.
	OneContainer bool
	// PauseImage is the image of the pause container that each ordinary pod has, pulled when the node lacks it; empty:
	// pods have none.
	PauseImage string
	// Launch says how a Windows program is started in a container.
	Launch Launch
	// LinuxNames makes names in pods resolve as in Linux pods, with all DNS suffixes and options that the kubelet
	// names. Windows itself uses the first suffix and no options.
	LinuxNames bool
	// Handlers are the names of the runtime handlers besides the default one.
	Handlers []string
	// RuntimeVersion is what the kubelet shows as the container runtime's version: containerd's, as runtimeName says.
	RuntimeVersion string
	// Places is how many programs may start at once on the node; 0: as many as the machine's processors carry.
	Places int
	// Tell passes on what happened to a pod, to who looks at its events, and does not wait; nil: nobody looks.
	Tell func(Notice)
	// Log takes what happens. Nil discards.
	Log *slog.Logger
}

// Notice is what happened to a pod, as a warning.
type Notice struct {
	Namespace string
	Pod       string
	UID       string
	// Reason is one word, Message a sentence for people.
	Reason  string
	Message string
}

// Launch says how a Windows program is started in a container.
type Launch struct {
	// Init is the Linux program that is PID 1, for example "/sbin/mullion-init". Empty: the loader is PID 1.
	Init string
	// Loader begins the command line of every Windows program, for example "/usr/lib/wine/wine64".
	Loader []string
	// Run is the Windows path of mullion-run.exe. Empty: programs are started by the loader itself, so exit codes have
	// 8 bits, programs must be named by their whole path and stopping a container kills it.
	Run string
	// Env is the Linux environment of the loader.
	Env []string
}

// Domains logs on to domains.
type Domains interface {
	// Logon gets a ticket for the account of a credential spec. The error is one of credspec's.
	Logon(ctx context.Context, s credspec.Spec) (credspec.Ticket, error)
}

// ShareUser is a container that uses SMB shares.
type ShareUser struct {
	// Container is its id, Spec its credential spec.
	Container string
	Spec      credspec.Spec
	// NetNS is the path of its network namespace, Files its working folder, which has its ticket when it starts.
	NetNS, Files string
	// Servers are the addresses of its DNS servers, Suffixes what may complete a name without a dot.
	Servers, Suffixes []string
}

// Containers is the part of an engine that makes and ends containers.
type Containers interface {
	Create(ctx context.Context, c engine.Container) error
	// Account finds an account that the layers of an image add, for the container with an id that is to be made.
	Account(ctx context.Context, id, chainID, name string) (a sam.Account, ok bool, err error)
	Start(ctx context.Context, id string, stdio engine.IO) (pid uint32, err error)
	Signal(ctx context.Context, id string, signal unix.Signal, all bool) error
	Remove(ctx context.Context, id string) error
}

// Tasks is the part of an engine that deals with running containers.
type Tasks interface {
	Wait(ctx context.Context, id string) (engine.Exit, error)
	Exec(ctx context.Context, id string, x engine.ExecSpec) (engine.Exit, error)
	Update(ctx context.Context, id string, r engine.Resources) error
	CloseStdin(ctx context.Context, id string) error
	Resize(ctx context.Context, id string, width, height uint16) error
}

// Inventory is the part of an engine that says what it is and which containers it has.
type Inventory interface {
	Version(ctx context.Context) (string, error)
	List(ctx context.Context, label, value string) ([]engine.Info, error)
}

// Meters is the part of an engine that lists and measures containers, and weighs their pods.
//
//nolint:interfacebloat // a method for each thing that is measured
type Meters interface {
	Inventory
	admission.Weights
	Usage(ctx context.Context, id string) (engine.Usage, error)
	DiskUsage(ctx context.Context, id string) (bytes, inodes uint64, err error)
	// OutOfMemory calls seen with the id of each container in which the kernel kills a process for lack of memory,
	// until ctx ends.
	OutOfMemory(ctx context.Context, seen func(id string))
	// Unread returns how many bytes wait in the sockets of a network namespace that no cgroup counts; if it is more
	// than most, not all of them are counted.
	Unread(netns string, most int64) (int64, error)
}

// Engine runs containers.
type Engine interface {
	Containers
	Tasks
	Meters
	Housekeeping
	Machines
}

// Housekeeping is the part of an engine that makes and removes what is beside the containers, and lets them end.
type Housekeeping interface {
	Views
	// MakeWorkDir makes a folder that does not grow, by which a container and the
	// server tell each other things.
	MakeWorkDir(dir string) error
	// RemoveWorkDir removes a folder and what is in it; a missing one is no error.
	RemoveWorkDir(dir string) error
	// RemovePod removes what the containers of a pod shared, when all are removed; a pod that is gone is no error.
	RemovePod(pod string) error
}

// ImageFinder answers for single images. The errors are containerd's errdefs.
type ImageFinder interface {
	// GetFor finds an image by id or reference for a runtime handler.
	GetFor(ctx context.Context, idOrRef, handler string) (image.Info, error)
	// GetAny is GetFor, but finds an image of a build that the node does not run, too.
	GetAny(ctx context.Context, idOrRef, handler string) (image.Info, error)
	// Check returns an error if no container of the image can be made on this node with a runtime handler.
	Check(info image.Info, handler string) error
}

// Images holds images.
type Images interface {
	ImageFinder
	Pull(ctx context.Context, ref string, auth *image.Auth, handler string) (image.Info, error)
	List(ctx context.Context) ([]image.Info, error)
	Remove(ctx context.Context, idOrRef string) error
	FsInfo(ctx context.Context) (image.Usage, error)
}

// Network connects pods.
type Network interface {
	// Setup makes a pod's network namespace and connects it. If it returns an error nothing is left behind.
	Setup(ctx context.Context, pod Pod) (PodNetwork, error)
	// Teardown takes back what Setup did; a pod that is not connected is no error. podNetwork is what Setup returned,
	// or the zero value if Setup was interrupted by a crash.
	Teardown(ctx context.Context, pod Pod, podNetwork PodNetwork) error
	// Share records that a container of a connected pod runs, or no longer does: Windows tells by that whose the pod's
	// traffic is. To record that a container of a pod that is not connected ran no longer is no error.
	Share(ctx context.Context, pod Pod, container string, runs bool) error
	// Stats counts what went through a pod's interfaces.
	Stats(ctx context.Context, pod Pod) (NetworkStats, error)
	NodeNetwork
}

// NodeNetwork is the part of a network that is the node's.
type NodeNetwork interface {
	// SetPodCIDR sets the node's pod CIDR, or one CIDR of each family with a comma between.
	SetPodCIDR(ctx context.Context, cidrs string) error
	// Ready returns nil when pods can be connected, else why not; the kubelet shows it on the node.
	Ready(ctx context.Context) error
}

// Pod is what a network needs to know of a pod.
type Pod struct {
	// ID is the sandbox's id, unique for ever; the others are Kubernetes' own names.
	ID, Name, Namespace, UID string
	Hostname                 string
	DNS                      DNS
	Ports                    []PortMapping
	Labels, Annotations      map[string]string
}

// DNS is how names are resolved in a pod.
type DNS struct {
	Servers, Searches, Options []string
}

// PortMapping is a hostPort.
type PortMapping struct {
	Protocol                string // "TCP", "UDP" or "SCTP"
	HostIP                  string
	HostPort, ContainerPort int32
}

// PodNetwork is a connected pod.
type PodNetwork struct {
	// NetNS is the path of the network namespace.
	NetNS string
	// IPs are the pod's addresses, the primary one first.
	IPs []string
}

// NetworkStats counts a pod's traffic. Bytes and packets are counted since the pod was connected.
type NetworkStats struct {
	At         time.Time
	Interfaces []InterfaceStats
}

// InterfaceStats counts the traffic of one interface; the first of a pod is the default one.
type InterfaceStats struct {
	// Name and Endpoint are the name and the GUID of the HNS endpoint.
	Name, Endpoint       string
	RxBytes, TxBytes     uint64
	RxDropped, TxDropped uint64
}
