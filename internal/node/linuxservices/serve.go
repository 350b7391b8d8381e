package linuxservices

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
)

// The states of the service.
const (
	stateActive     = "active"
	stateActivating = "activating"
	stateInactive   = "inactive"
)

// disabledFile is there when the service was disabled.
const disabledFile = "/var/lib/mullion/services/kubelet.disabled"

// Times of the server.
const (
	headerPatience = 10 * time.Second
	// The packages' unit waits for ten seconds.
	restartMin, restartMax = time.Second, 10 * time.Second
)

// StopPatience is how long the services have to end when the host does.
const StopPatience = 20 * time.Second

// Options are what Serve needs to know. It runs in the host.
type Options struct {
	// Path is the PATH of the kubelet, which is looked for in it.
	Path string
	// Marker is put into the environment of the kubelet.
	Marker string
	// Log gets what goes wrong.
	Log *slog.Logger
}

// Serve keeps the service, and answers systemctl, until ctx ends.
func Serve(ctx context.Context, o Options) error {
	if err := os.MkdirAll(filepath.Dir(Socket), 0o700); err != nil {
		return err
	}
	l, err := unixsocket.Listen(ctx, Socket)
	if err != nil {
		return err
	}

	m := &manager{Options: o}
	server := &http.Server{
		Handler:           m.handler(),
		ReadHeaderTimeout: headerPatience,
		MaxHeaderBytes:    1 << 13,
	}

	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	if m.enabled() {
		if _, err := m.do(ctx, "start"); err != nil {
			o.Log.Error("start the service", "name", Kubelet, "error", err)
		}
	}

	select {
	case err = <-ended:
	case <-ctx.Done():
	}

	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), StopPatience-5*time.Second)
	defer cancel()
	_, stopErr := m.do(stop, "stop")
	return errors.Join(err, stopErr, server.Close())
}

// manager keeps the service.
type manager struct {
	Options

	mu      sync.Mutex // one request at a time
	process *proc.Process
}

func (m *manager) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{verb}", func(w http.ResponseWriter, r *http.Request) {
		a, err := m.do(r.Context(), r.PathValue("verb"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		_ = json.NewEncoder(w).Encode(a) // who asked has gone away
	})
	return mux
}

// do carries out a request.
func (m *manager) do(ctx context.Context, verb string) (answer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()

	var err error
	var why string
	switch verb {
	case "look":
	case "start":
		why, err = m.start(ctx)
	case "stop":
		err = m.stop(ctx)
	case "restart":
		if err = m.stop(ctx); err == nil {
			why, err = m.start(ctx)
		}

	case "enable":
		if err = os.Remove(disabledFile); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	case "disable":
		if err = os.MkdirAll(filepath.Dir(disabledFile), 0o755); err == nil {
			err = os.WriteFile(disabledFile, nil, 0o644)
		}

	default:
		err = fmt.Errorf("%q is none of look, start, stop, restart, enable, disable", verb)
	}

	if err != nil {
		return answer{}, err
	}

	return m.look(why), nil
}

// look says how the service is.
func (m *manager) look(why string) answer {
	a := answer{
		State:   stateInactive,
		Enabled: m.enabled(),
		Why:     why,
	}
	if m.process == nil {
		return a
	}

	state := m.process.State()
	switch state.Phase {
	case proc.Running:
		a.State, a.PID = stateActive, state.PID
	case proc.Starting, proc.BackingOff:
		a.State, a.PID = stateActivating, state.PID
	}

	if state.Err != nil && a.State != stateActive {
		a.Why, _, _ = strings.Cut(state.Err.Error(), "\n")
	}
	return a
}

func (m *manager) enabled() bool {
	_, err := os.Stat(disabledFile)
	return errors.Is(err, fs.ErrNotExist)
}

// start starts the service, with the command line that its files give now. It returns why it does not.
func (m *manager) start(ctx context.Context) (string, error) {
	if s := m.look("").State; s != stateInactive {
		return "", nil
	}
	if _, err := os.Stat(configFile); errors.Is(err, fs.ErrNotExist) {
		return configFile + " is not there; kubeadm writes it", nil
	} else if err != nil {
		return "", err
	}

	program, err := m.find(Kubelet)
	if err != nil {
		return "", err
	}
	args, err := kubeletArgs(readSettings)
	if err != nil {
		return "", err
	}

	if err := os.MkdirAll(filepath.Dir(Log), 0o755); err != nil {
		return "", err
	}

	m.process = proc.New(proc.Spec{
		ID:      component.Sole(Kubelet),
		Path:    program,
		Args:    args,
		Env:     []string{"PATH=" + m.Path, "HOME=/root"},
		Marker:  m.Marker,
		LogPath: Log,
		Restart: proc.Restart{Min: restartMin, Max: restartMax},
	})

	return "", m.process.Start(ctx)
}

func (m *manager) stop(ctx context.Context) error {
	if m.process == nil {
		return nil
	}
	err := m.process.Stop(ctx)
	m.process = nil
	return err
}

// find finds a program in the service's PATH.
func (m *manager) find(name string) (string, error) {
	for dir := range strings.SplitSeq(m.Path, ":") {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("find %s in %s: %w", name, m.Path, exec.ErrNotFound)
}

// readSettings reads a file of variables; one that is not there is empty.
func readSettings(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe in its place does not hold us up
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is not a regular file", path))
	}
	return io.ReadAll(io.LimitReader(f, mostSettings+1))
}
