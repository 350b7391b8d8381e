package hcs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/cri/stream"
	"mullion.dev/mullion/internal/runtime/hcs/hcstest"
)

// host is a service with a drive that has one layer and a scratch.
type host struct {
	*Service
	engine *hcstest.Engine
	drive  string
	volume string // of the scratch
	config Config
	stop   func()
}

// begin starts the service, again after stop.
func (h *host) begin(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	s, err := New(ctx, h.config)
	if err != nil {
		t.Fatal(err)
	}
	h.Service = s
	h.stop = func() { cancel(); s.Close() }
}

const (
	baseLayer   = `C:\layers\base`
	scratchPath = `C:\layers\scratch`
)

func newHost(t *testing.T) *host {
	t.Helper()
	dir := t.TempDir()
	drive := filepath.Join(dir, "drive")
	for _, d := range []string{
		filepath.Join(drive, "layers/base/Files"), filepath.Join(dir, "system/windows/System32"), filepath.Join(dir, "run"),
	} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	f := hcstest.New()
	socket := filepath.Join(dir, "keeper.sock")
	// The keeper lives longer than the service, which would begin another one, and ends before its files go.
	keeping, endKeepers := context.WithCancel(context.WithoutCancel(t.Context()))
	var keepers sync.WaitGroup
	t.Cleanup(func() {
		endKeepers()
		keepers.Wait()
	})

	h := &host{engine: f, drive: drive}
	h.config = Config{
		Node:        "win-1",
		StateDir:    filepath.Join(dir, "state"),
		RunDir:      filepath.Join(dir, "run"),
		Drive:       drive,
		Upper:       drive,
		SystemDrive: filepath.Join(dir, "system"),
		Engine:      f,
		Keeper: stream.NewClient(socket, func(context.Context) error {
			keepers.Go(func() { _ = stream.Serve(keeping, socket) })
			return nil
		}),
		OpenSource: func(path string) (*os.File, error) { return os.Open(filepath.Join(drive, filepath.Base(path))) },
		Networks:   networks{"known": {}},
		Launch: cri.Launch{
			Init:   "/init",
			Loader: []string{"wine"},
			Run:    `C:\run.exe`,
		},
	}
	h.begin(t)
	t.Cleanup(func() { h.stop() })
	h.ok(t, "ProcessBaseImage", baseLayer)
	h.ok(t, "CreateSandboxLayer", scratchPath)
	h.ok(t, "ActivateLayer", scratchPath)
	h.ok(t, "PrepareLayer", scratchPath, baseLayer+"\n")
	h.volume = h.ok(t, "GetLayerMountPath", scratchPath).Text

	return h
}

func (h *host) ok(t *testing.T, function string, text ...string) Answer {
	t.Helper()
	a, err := h.Call(t.Context(), function, text)
	if err != nil {
		t.Fatalf("%s%q: %v", function, text, err)
	}
	return a
}

// refused makes a call that has to fail with a code.
func (h *host) refused(t *testing.T, want Code, function string, text ...string) {
	t.Helper()
	_, err := h.Call(t.Context(), function, text)
	var e *Error
	if !errors.As(err, &e) || e.Code != want {
		t.Errorf("%s%q: %v, want 0x%x", function, text, err, uint32(want))
	}
}

// event returns the next event.
func event(t *testing.T, s *Subscription) Event {
	t.Helper()
	select {
	case e, more := <-s.Events:
		if !more {
			t.Fatal("there are no more events")
		}
		return e
	case <-time.After(10 * time.Second):
		t.Fatal("no event came")
	}
	return Event{}
}

// networks are the endpoints of namespaces, by their GUIDs.
type networks map[string][]string

func (n networks) Find(_ context.Context, namespace string) (Network, error) {
	if _, there := n[namespace]; !there {
		return Network{}, refuse(NoElement, "no namespace %q", namespace)
	}
	return Network{NetNS: "/ns", DNS: cri.DNS{Servers: []string{"10.0.0.10"}}}, nil
}

func (n networks) Make(_ context.Context, namespace, _ string) error {
	n[namespace] = nil
	return nil
}

func (n networks) Attach(_ context.Context, namespace, endpoint string) error {
	if endpoint == "unknown" {
		return refuse(NoElement, "no endpoint %q", endpoint)
	}
	n[namespace] = append(n[namespace], endpoint)
	return nil
}

func (n networks) Detach(_ context.Context, namespace, endpoint string) error {
	n[namespace] = slices.DeleteFunc(n[namespace], func(one string) bool { return one == endpoint })
	return nil
}

func (n networks) Remove(_ context.Context, namespace string) error {
	delete(n, namespace)
	return nil
}
