package cri

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/cleanup"
	"mullion.dev/mullion/internal/runtime/admission"
	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/cri/stream"
)

// RunPodSandbox makes a new pod: its record on disk, its network, and what else its kind has, such as a virtual
// machine. An ordinary pod has a network namespace, and no process before its first container unless the node's pods
// have pause containers.
func (s *Server) RunPodSandbox(ctx context.Context,
	req *runtimeapi.RunPodSandboxRequest,
) (*runtimeapi.RunPodSandboxResponse, error) {
	config := req.GetConfig()
	meta := config.GetMetadata()
	if meta == nil {
		return nil, fmt.Errorf("run pod sandbox: config has no metadata: %w", errdefs.ErrInvalidArgument)
	}

	name := meta.GetNamespace() + "/" + meta.GetName()
	sb := store.Sandbox{
		ID:        newID(),
		Config:    store.SandboxConfig{PodSandboxConfig: config},
		Handler:   handlerOf(req),
		CreatedAt: time.Now(),
	}

	sb, k := withPause(s, sb)
	if err := s.checkSandbox(ctx, sb, k); err != nil {
		return nil, fmt.Errorf("run sandbox of pod %q: %w", name, err)
	}

	// It waits for its turn: the node starts as much at once as its processors carry.
	turn, err := s.queue.Enter(ctx, admission.Ask{
		Kind: admission.Start,
		Pod: admission.Pod{
			Namespace: meta.GetNamespace(),
			Name:      meta.GetName(),
			UID:       meta.GetUid(),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("run sandbox of pod %q: %w", name, err)
	}
	defer turn.Leave()
	if err := s.runSandbox(ctx, sb, k); err != nil {
		return nil, fmt.Errorf("run sandbox of pod %q: %w", name, err)
	}

	s.emit(sb.ID, sb.ID, runtimeapi.ContainerEventType_CONTAINER_CREATED_EVENT)
	s.emit(sb.ID, sb.ID, runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT)
	return &runtimeapi.RunPodSandboxResponse{PodSandboxId: sb.ID}, nil
}

// checkSandbox returns an error if a pod of this node cannot be run as it asks to be.
func (s *Server) checkSandbox(ctx context.Context, sb store.Sandbox, k kind) error {
	if sb.Handler != "" && !slices.Contains(s.cfg.Handlers, sb.Handler) {
		return fmt.Errorf("no runtime for %q is configured (known: %s): %w", sb.Handler,
			strings.Join(s.cfg.Handlers, ", "), errdefs.ErrInvalidArgument)
	}
	for _, p := range sb.Config.GetPortMappings() {
		if p.GetHostPort() < 0 || p.GetHostPort() > 65535 {
			return fmt.Errorf("host port %d is no port: %w", p.GetHostPort(), errdefs.ErrInvalidArgument)
		}
	}
	return k.check(ctx, sb)
}

func (s *Server) runSandbox(ctx context.Context, sb store.Sandbox, k kind) error {
	// Not while its volumes are being emptied (HoldPod).
	defer s.locks.lock(volumesOf(sb.Config.GetMetadata().GetUid()))()
	// The pod is listed from now on. Whoever stops or removes it waits until it is made, or undone.
	defer s.locks.lock(sb.ID)()

	var undo cleanup.Stack
	defer func() {
		if err := undo.Clean(); err != nil {
			s.log.Error("pod not undone", "sandbox", sb.ID, "error", err)
		}
	}()

	s.kinds.put(sb.ID, k)
	undo.Add(func() error {
		if _, err := s.sandboxes.Get(sb.ID); errors.Is(err, store.ErrNotFound) {
			s.kinds.forget(sb.ID)
		}
		return nil
	})

	// On disk first: whatever follows is found again after a crash.
	if err := s.sandboxes.Put(sb.ID, sb); err != nil {
		return err
	}

	connected := false
	undo.Add(func() error {
		if connected {
			return nil // Half made, it is listed as not ready: the kubelet removes it, or the next server does.
		}
		return errors.Join(os.RemoveAll(s.containerDir(sb.ID)), s.sandboxes.Delete(sb.ID))
	})

	if dir := sb.Config.GetLogDirectory(); dir != "" {
		path, err := s.cfg.HostPath(dir)
		if err != nil {
			return fmt.Errorf("find log folder %q: %w", dir, err)
		}
		if err := stream.MakeLogFolder(path); err != nil {
			return err
		}
	}

	if err := s.writeResolvConf(sb); err != nil {
		return err
	}
	network, err := k.network().Setup(ctx, podOf(sb))
	if err != nil {
		return fmt.Errorf("connect to network: %w", err)
	}

	connected = true
	sb.NetNS, sb.IPs = network.NetNS, network.IPs
	undo.Add(func() error {
		err := s.disconnect(context.WithoutCancel(ctx), sb)
		connected = err != nil
		return err
	})

	if err := k.start(ctx, sb); err != nil {
		return err
	}
	undo.Add(func() error { return k.stop(context.WithoutCancel(ctx), sb) })
	sb.Ready = true
	if err := s.sandboxes.Put(sb.ID, sb); err != nil {
		return err
	}

	undo.Release()
	k.watch(sb)
	return nil
}

// podOf returns what a network needs to know of a sandbox.
func podOf(sb store.Sandbox) Pod {
	c := sb.Config.PodSandboxConfig
	pod := Pod{
		ID:          sb.ID,
		Name:        c.GetMetadata().GetName(),
		Namespace:   c.GetMetadata().GetNamespace(),
		UID:         c.GetMetadata().GetUid(),
		Hostname:    c.GetHostname(),
		Labels:      c.GetLabels(),
		Annotations: c.GetAnnotations(),
		DNS: DNS{
			Servers:  c.GetDnsConfig().GetServers(),
			Searches: c.GetDnsConfig().GetSearches(),
			Options:  c.GetDnsConfig().GetOptions(),
		},
	}

	for _, p := range c.GetPortMappings() {
		if p.GetHostPort() == 0 {
			continue
		}
		pod.Ports = append(pod.Ports, PortMapping{
			Protocol:      p.GetProtocol().String(),
			HostIP:        p.GetHostIp(),
			HostPort:      p.GetHostPort(),
			ContainerPort: p.GetContainerPort(),
		})
	}

	return pod
}

func networkOf(sb store.Sandbox) PodNetwork { return PodNetwork{NetNS: sb.NetNS, IPs: sb.IPs} }

// newID makes an id as containerd does: 64 hexadecimal digits.
func newID() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never returns an error: https://pkg.go.dev/crypto/rand#Read
	return hex.EncodeToString(b[:])
}
