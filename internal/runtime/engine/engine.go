// Package engine owns the Linux side of Windows containers: it is a client of containerd that makes a runc container
// whose C: drive is an overlay of a Windows image over the Wine system layers, runs programs in it, measures what it
// uses and removes it. It knows nothing of Kubernetes, of pods' networks or of how images are pulled.
//
// A container's root file system is containerd's own overlay of the image's layers with the system layers added below
// them. The lower layers, owned by root on disk, are mounted ID-mapped, so that in the container everything in C:
// belongs to the container's user although that user is an unprivileged one on the machine. That needs overlayfs on
// ID-mapped layers: Linux 5.19 and a file system with ID-mapped mounts (ext4, xfs, btrfs).
//
//	Create          Start            (program ends)         Remove
//	───────▶ created ────▶ running ─────────────────▶ exited ──────▶ (gone)
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/namespaces"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/runtime/userns"
)

// Runtime is the name of containerd's runtime that runs the containers.
const Runtime = "io.containerd.runc.v2"

// IDRange is the range of user and group ids on the machine that a container's user namespace is mapped to: 0 in the
// container is Base on the machine.
type IDRange struct {
	Base uint32
	Size uint32
}

// DefaultIDs returns one range for the files of every container of a node: those that pods leave in volumes must stay
// usable for the next pod, as they do on Windows. Programs have those of podRange.
func DefaultIDs() IDRange { return IDRange(userns.OnDisk()) }

// Options is what Connect needs. All paths are absolute.
type Options struct {
	// Socket is containerd's gRPC socket.
	Socket string
	// Namespace is the containerd namespace of the containers; it must be the one that the images are in.
	Namespace string
	// Snapshotter is the name of containerd's snapshotter; empty means overlayfs.
	Snapshotter string
	// Runc is the runc binary, 1.2 or newer: older ones cannot execute a program in a container that has a user
	// namespace of its own and a network namespace of the machine's. Empty means the one in containerd's PATH.
	Runc string
	// RunDir is where the ID-mapped views of the layers are mounted, and the folders and files that containers mount
	// before they start. Connect clears what an earlier process left in it. Only root gets into it.
	RunDir string
	// SystemLayers are the folders below an image's own layers, top first.
	SystemLayers []string
	// SystemMounts are bound read-only into every container: Wine's own folders.
	SystemMounts []BindMount
	// MemoryMounts are bound read-only into every container that runs on this machine and not in a virtual one: what
	// its programs see of the node's memory.
	MemoryMounts []BindMount
	// Memory is how much the node has of the machine's memory, in bytes; 0: all of it.
	Memory int64
	// CgroupParent is the cgroup below which every container has its own, for example "/mullion/win-1".
	CgroupParent string
	// IDs is the range of machine ids for the files of containers; the zero value means DefaultIDs.
	IDs IDRange
	// Host is the Windows host for HostProcess containers; nil: there are none.
	Host *Host
	// Machines says how virtual machines are made; nil: there are none.
	Machines *Machines
	// Log takes what happens in the background.
	Log *slog.Logger
}

// BindMount is a file or folder of the machine that a container sees read-only at Target.
type BindMount struct {
	Source string
	Target string
}

// Engine is a connection to containerd for the containers of one Windows host.
type Engine struct {
	opts       Options
	client     *client.Client
	layers     *layerViews
	memory     memory
	swap       bool               // whether the machine counts swap
	processors *cgroup.Processors // nil: the machine does not weigh them
	hives      sync.Mutex
	podMemory  sync.Mutex // of the sums of limits
	boots      boots
}

// Connect connects to containerd, which must be running. Close the engine when done.
func Connect(ctx context.Context, opts Options) (*Engine, error) {
	if opts.Snapshotter == "" {
		opts.Snapshotter = "overlayfs"
	}
	if opts.IDs == (IDRange{}) {
		opts.IDs = DefaultIDs()
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}

	if opts.Runc == "" {
		opts.Runc = "runc"
	}
	if err := os.MkdirAll(opts.RunDir, 0o700); err != nil {
		return nil, fmt.Errorf("make folder of engine: %w", err)
	}

	if opts.Host != nil {
		if err := os.MkdirAll(opts.Host.Shared, 0o711); err != nil {
			return nil, fmt.Errorf("make folder of HostProcess containers: %w", err)
		}
	}
	memory, err := lookAtMemory(opts.Memory)
	if err != nil {
		return nil, err
	}

	swap, err := cgroup.CountsSwap()
	if err != nil {
		return nil, err
	}
	processors, err := findProcessors()
	if err != nil {
		return nil, err
	}

	views, err := newLayerViews(filepath.Join(opts.RunDir, "layers"))
	if err != nil {
		return nil, err
	}
	c, err := client.New(opts.Socket, client.WithDefaultNamespace(opts.Namespace))
	if err != nil {
		return nil, fmt.Errorf("connect to containerd at %q: %w", opts.Socket, err)
	}

	e := &Engine{
		opts:       opts,
		client:     c,
		layers:     views,
		memory:     memory,
		swap:       swap,
		processors: processors,
	}

	if err := e.clearSources(func(id string) (bool, error) { return e.waitsForStart(ctx, id) }); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Close unmounts the layer views and closes the connection. Running containers are not touched: their overlays hold the
// layers without the views.
func (e *Engine) Close() error {
	viewErr := e.layers.close()
	if err := e.client.Close(); err != nil {
		return fmt.Errorf("close connection to containerd: %w", err)
	}
	return viewErr
}

// Version returns containerd's version.
func (e *Engine) Version(ctx context.Context) (string, error) {
	v, err := e.client.Version(ctx)
	if err != nil {
		return "", fmt.Errorf("ask containerd for its version: %w", err)
	}
	return v.Version, nil
}

// diskID returns the id on disk of id in a container.
func (e *Engine) diskID(id uint32) uint32 { return e.opts.IDs.Base + id }

// with returns ctx with the engine's containerd namespace.
func (e *Engine) with(ctx context.Context) context.Context {
	return namespaces.WithNamespace(ctx, e.opts.Namespace)
}
