// Package image is the image store of a Windows node: it pulls, loads, lists and removes Windows images in containerd
// and unpacks them into snapshots that lie over the Wine system layer.
//
// It owns: which manifest of an image a node takes (os.version, as containerd on Windows chooses), whether an image may
// run on the node's build (Check), which layers are Microsoft's base layers and therefore neither fetched nor unpacked,
// and how a layer written for NTFS becomes a folder on Linux (letter case, owners, modes, links).
// It does not own: containerd itself (package engine), the Wine system layer (package wine), or how a container's root
// file system is put together from a snapshot and that layer (package engine).
//
// # Base layers
//
// A Windows image begins with one or two layers that hold Windows itself (nanoserver, servercore). Wine's system layer
// stands in for them, so they are recognised from the manifest and the image configuration alone (see markBase) and
// skipped: no blob is fetched, no snapshot made. Everything that names the image (the manifest, its digest, the image
// ID, the diff IDs) stays that of the real image. A registry that has only the other layers is enough.
//
// # One containerd, several nodes
//
// All Windows nodes of a machine share one containerd namespace. A reference may name an index with a manifest for each
// Windows build; the index is stored whole and each node's Store answers for the manifest of its own build. An image is
// there for a node when that manifest's configuration carries the label that is written last (labelSnapshot), so a
// half-pulled image, or an image whose manifest for another node only has been pulled, is not listed. The command
// line's store knows no system layer: it stores and checks images, and the first node that looks for an image unpacks
// it.
package image

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/introspection"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Isolation is how strictly a container's Windows build is tied to the node's.
type Isolation int

const (
	// Process isolation shares the node's kernel: the build has to be one that the node's build accepts.
	Process Isolation = iota
	// HyperV isolation has a kernel of its own: any build up to the node's.
	HyperV
	// anyBuild accepts every build, whether it can run or not.
	anyBuild
)

// Config says what a Store stands for.
type Config struct {
	// OSVersion is the node's Windows version, for example "10.0.20348.2762". Empty: the store stands for no node but
	// for the whole machine, and every Windows build fits (`mullion image ls|load|rm`).
	OSVersion string
	// Handlers maps CRI runtime handlers to their isolation. A handler that is not listed (the empty one too) has
	// Process.
	Handlers map[string]Isolation
	// Snapshotter is containerd's snapshotter; empty: "overlayfs". It has to give bind or overlay mounts.
	Snapshotter string
	// Registries says how registries are reached.
	Registries Registries
	// SystemFiles is the C: drive of the Wine system layer (base/Files). Names that exist there keep their letter case
	// in every image, and the system's own libraries are not replaced by an image's. Empty: the store unpacks nothing.
	// Images that it pulls or loads are checked and stored; a node's store unpacks them when it first looks for them.
	SystemFiles string
	// Owner is the uid and gid on disk that a container sees as 0 (ContainerAdministrator): 0 where layers are mounted
	// ID-mapped, as package engine does. Unpacked files belong to it; what belongs to ContainerUser has
	// Owner+ContainerUserID.
	Owner int
}

// ContainerUserID is the uid that ContainerUser has inside a Windows container.
const ContainerUserID = 1000

// Registries says how registries are reached.
type Registries struct {
	// HostDirs are folders with <host>/hosts.toml, as containerd's config_path
	// (https://github.com/containerd/containerd/blob/v2.4.2/docs/hosts.md), searched in order. Nil: the machine's own,
	// /etc/containerd/certs.d and /etc/docker/certs.d.
	HostDirs []string
	// Auths are credentials for requests that bring none, by the host that is spoken to.
	Auths map[string]Auth
	// Headers are sent with every request.
	Headers http.Header
	// Proxy returns the HTTP proxy of a request, nil for none. Nil: that of this process's environment.
	Proxy func(*http.Request) (*url.URL, error)
	// BaseSilence is how long a registry may say nothing of one of Windows' base images before an image without files
	// stands in for it; 0: 10 seconds.
	BaseSilence time.Duration
}

// MachineDirs returns the machine's own folders of how registries are reached.
func MachineDirs() []string { return []string{"/etc/containerd/certs.d", "/etc/docker/certs.d"} }

func (r Registries) silence() time.Duration { return cmp.Or(r.BaseSilence, 10*time.Second) }

// DefaultHandlers returns the runtime handlers of containerd's own configuration on Windows, and that of dockershim,
// which the sample in Kubernetes' documentation names: it was Docker's default, process isolation
// (https://github.com/containerd/containerd/blob/v2.4.2/internal/cri/config/config_windows.go).
func DefaultHandlers() map[string]Isolation {
	return map[string]Isolation{
		"docker":                 Process,
		"runhcs-wcow-process":    Process,
		"runhcs-wcow-hypervisor": HyperV,
	}
}

// Store is the image store of one Windows node. All state is in containerd; a Store caches only what it has read from
// blobs, which do not change. So several stores, in several processes, may work on one containerd.
type Store struct {
	cfg       Config
	namespace string
	// unpacking keeps two calls from unpacking the same image twice; it is not needed for correctness.
	unpacking sync.Mutex
	known     known

	content    content.Store
	images     images.Store
	snapshots  snapshots.Snapshotter
	leases     leases.Manager
	introspect introspection.Service
}

// New returns the store of a node on a containerd namespace.
func New(c *client.Client, namespace string, cfg Config) (*Store, error) {
	if cfg.Snapshotter == "" {
		cfg.Snapshotter = "overlayfs"
	}
	if cfg.Registries.HostDirs == nil {
		cfg.Registries.HostDirs = MachineDirs()
	}

	if cfg.OSVersion != "" {
		if _, err := parseVersion(cfg.OSVersion); err != nil {
			return nil, fmt.Errorf("make image store: %w", err)
		}
	}

	return &Store{
		cfg:        cfg,
		namespace:  namespace,
		content:    c.ContentStore(),
		images:     c.ImageService(),
		snapshots:  c.SnapshotService(cfg.Snapshotter),
		leases:     c.LeasesService(),
		introspect: c.IntrospectionService(),
	}, nil
}

// Info describes an image as the node sees it.
type Info struct {
	// ID is the digest of the image's configuration ("sha256:…"), which CRI calls the image ID.
	ID string
	// RepoTags and RepoDigests are the references to it, sorted.
	RepoTags, RepoDigests []string
	// Target is what the references point at: an index or the manifest.
	Target ocispec.Descriptor
	// Size is the compressed size in bytes of all that the node keeps of it, skipped base layers not counted.
	Size uint64
	// ChainID is the snapshot to pass as parent to the snapshotter when a container is prepared. Empty: the image has
	// no layer of its own beside the base, and the container is prepared without a parent; or the store unpacks nothing
	// (Config.SystemFiles). It is not the OCI chain ID: base layers are not part of it, and it carries a prefix for the
	// way it was unpacked.
	ChainID string
	// OSVersion is the image's os.version; empty when the image does not say.
	OSVersion string
	// Config is what a container inherits: entry point, command, environment, user, working directory, …
	Config ocispec.ImageConfig
	// Spec is the whole image configuration.
	Spec ocispec.Image
	// SkippedLayers are the diff IDs of base layers that Wine stands in for.
	SkippedLayers []string
	// Pinned images are not removed by the kubelet's garbage collection.
	Pinned bool
}

// Snapshotter returns the name of containerd's snapshotter that the images are unpacked in.
func (s *Store) Snapshotter() string { return s.cfg.Snapshotter }

// OSVersion returns the node's Windows version.
func (s *Store) OSVersion() string { return s.cfg.OSVersion }

// isolation returns what a runtime handler stands for.
func (s *Store) isolation(handler string) Isolation { return s.cfg.Handlers[handler] }

func (s *Store) context(ctx context.Context) context.Context {
	return namespaces.WithNamespace(ctx, s.namespace)
}
