package cri

import (
	"context"
	"net"
	"sync"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/image"
)

// kind is what a pod is made of on this node: programs of the node's own kernel, of the Windows host, of a virtual
// machine. Each kind has a file, kind_<name>.go, and nothing outside these files asks of what kind a pod is. The kind
// is chosen once, when the pod is made or read back from disk. The containers of a pod are of its kind.
type kind interface {
	podLife
	podNetwork
	making
	places
	programs
}

// podLife is what a kind has besides the pod's network.
type podLife interface {
	// check refuses a pod that cannot be run as it asks to be.
	check(ctx context.Context, sb store.Sandbox) error
	// start starts what the pod's containers need, when the pod is connected. If it returns an error, nothing is left
	// behind.
	start(ctx context.Context, sb store.Sandbox) error
	// watch stops the pod when what was started ends by itself. It does not wait.
	watch(sb store.Sandbox)
	// stop takes back what start did, before the containers are stopped and the pod is disconnected. What is gone
	// already is no error.
	stop(ctx context.Context, sb store.Sandbox) error
}

// podNetwork is how a pod is seen from outside.
type podNetwork interface {
	// network connects the pod.
	network() Network
	// sockets is the path of the network namespace whose sockets are the pod's alone, "" if it has none.
	sockets(sb store.Sandbox) string
	// dial connects to a port of the pod's own loopback addresses.
	dial(ctx context.Context, sb store.Sandbox, port uint16) (net.Conn, error)
	// systems are what the Host Compute Service shows of the pod itself and of those of its containers that run.
	systems(sb store.Sandbox, running []store.Container) (pod, containers []ComputeSystem)
}

// making is how containers are made.
type making interface {
	// admit refuses a container, or a change of its limits, that would not get what it asks for.
	admit(sb store.Sandbox, config *runtimeapi.ContainerConfig) error
	// record is the record of a new container of an image.
	record(ctx context.Context, sb store.Sandbox, config *runtimeapi.ContainerConfig, img image.Info,
	) (store.Container, error)
	// complete makes the container's own files, and turns a plain specification into that of the kind. The sources of
	// the specification's mounts may be replaced; the replaced ones are closed.
	complete(sb store.Sandbox, c *store.Container, spec *engine.Container) error
	// tellLimits tells the container's programs which limits they have from now on.
	tellLimits(ctx context.Context, c store.Container, r *runtimeapi.WindowsContainerResources) error
}

// places are where a container has its files.
type places interface {
	// folder is the container's working folder: its path on the machine, and the one that its programs see.
	folder(c store.Container) (machine, inside string)
	// prefix is the Linux path, as its programs see it, of the container's Wine prefix; "": it is the root.
	prefix(c store.Container) string
	// explanation is where, in a server's StateDir, lies what Wine said of a container's programs; "": it is not kept.
	explanation(stateDir, container string) string
}

// programs are those that run in a container.
type programs interface {
	// user is the Linux user of the container's programs, in the container. The error says that its Windows user does
	// not exist, which is the start's error.
	user(c store.Container) (uint32, error)
	// credential is the container's credential spec, "" without one. The error says why it cannot be honoured.
	credential(c store.Container) (string, error)
	// firstProcess is the command line of the container's first process, which runs the container's program.
	firstProcess(sb store.Sandbox, c store.Container, program runSpec) []string
	// arguments are those of a program that is run in the container.
	arguments(c store.Container, args []string) []string
}

// choose chooses a pod's kind. A further kind has a line here and a file of its own.
func choose(s *Server, sb store.Sandbox) kind {
	for _, of := range []func(*Server, store.Sandbox) kind{machineOf, hostProcessOf, pausedOf} {
		if k := of(s, sb); k != nil {
			return k
		}
	}
	return process{s}
}

// kinds are those of the pods that there are, by the ids of their sandboxes. The zero value has none.
type kinds struct {
	mu sync.RWMutex
	of map[string]kind
}

func (k *kinds) put(sandbox string, of kind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil {
		k.of = map[string]kind{}
	}
	k.of[sandbox] = of
}

func (k *kinds) get(sandbox string) (kind, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	of, there := k.of[sandbox]
	return of, there
}

func (k *kinds) forget(sandbox string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.of, sandbox)
}

// kindOf returns the kind of a pod, by its sandbox. What belongs to no pod that there is, as files that a crash has
// left, is like an ordinary container's.
func (s *Server) kindOf(sandbox string) kind {
	if k, there := s.kinds.get(sandbox); there {
		return k
	}
	return process{s}
}
