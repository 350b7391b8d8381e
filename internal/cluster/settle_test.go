package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/spec"
)

// unusual returns a cluster on a subnet that no machine of the tests has.
func unusual(t *testing.T) spec.Cluster {
	t.Helper()
	c := load(t, "networking: {underlaySubnet: 198.18.7.0/24}\nnodes: [{windowsVersion: ltsc2022}]")
	c.Networking.APIServerPort = 0
	return c
}

// wantConflict checks that err is a ConflictError that contains text.
func wantConflict(t *testing.T, err error, text string) {
	t.Helper()
	conflict, ok := errors.AsType[*ConflictError](err)
	if !ok || conflict.Remedy == "" || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want a conflict that says %q and has a remedy", err, text)
	}
}

// A new cluster gets a free port and keeps it. Bringing up the same specification again is accepted; another one is
// refused and changes nothing.
func TestSettle(t *testing.T) {
	paths := layout.Paths{Data: t.TempDir()}
	want := unusual(t)
	first, _, err := settle(want, paths, nil)
	if err != nil || first.Networking.APIServerPort == 0 {
		t.Fatalf("port %d, %v", first.Networking.APIServerPort, err)
	}

	again, _, err := settle(want, paths, nil)
	if err != nil || again.Networking.APIServerPort != first.Networking.APIServerPort {
		t.Errorf("the second time port %d, %v", again.Networking.APIServerPort, err)
	}
	before, err := os.ReadFile(paths.Spec())
	if err != nil {
		t.Fatal(err)
	}

	other := want
	other.Nodes = append([]spec.Node{{Name: "linux-1", OS: spec.Linux}}, want.Nodes...)
	_, _, err = settle(other, paths, nil)
	wantConflict(t, err, "of another specification: nodes has ")
	if after, err := os.ReadFile(paths.Spec()); err != nil || string(after) != string(before) {
		t.Errorf("the specification was changed: %v", err)
	}

	more := want
	more.Nodes = append(slices.Clone(want.Nodes), spec.Node{Name: "linux-1", OS: spec.Linux})
	grown, have, err := settle(more, paths, nil)
	if err != nil || have == nil || len(have.Nodes) != 1 || len(grown.Nodes) != 2 ||
		grown.Networking.APIServerPort != first.Networking.APIServerPort {
		t.Errorf("with one more node: %+v, %+v, %v", grown, have, err)
	}

	if after, err := os.ReadFile(paths.Spec()); err != nil || string(after) != string(before) {
		t.Errorf("the specification was changed before the supervisor ended: %v", err)
	}
	if err := os.WriteFile(paths.Spec(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := settle(want, paths, nil); err == nil || !strings.Contains(err.Error(), paths.Spec()) {
		t.Errorf("a specification that cannot be read: %v", err)
	}
}

// A port or a subnet that is in use on the machine, and an address that the machine does not have, are refused before
// anything is written.
func TestSettleConflicts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = l.Close() }) // a listener that is closed is no error here
	taken := l.Addr().(*net.TCPAddr).Port
	for _, tt := range []struct {
		name, want string
		change     func(*spec.Networking)
	}{
		{"port", strconv.Itoa(taken), func(n *spec.Networking) { n.APIServerPort = taken }},
		{"address", "192.0.2.77", func(n *spec.Networking) { n.APIServerAddress = "192.0.2.77" }},
		{"subnet", "127.0.0.1/8", func(n *spec.Networking) { n.UnderlaySubnet = "127.0.0.0/24" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			paths := layout.Paths{Data: t.TempDir()}
			c := unusual(t)
			tt.change(&c.Networking)
			_, _, err := settle(c, paths, nil)
			wantConflict(t, err, tt.want)
			if _, err := os.Stat(paths.Spec()); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a specification was written: %v", err)
			}
		})
	}
}

// statuses returns a supervisor that gives these answers one after the other, and the last one for ever.
func statuses(t *testing.T, all ...supervisor.Status) *supervisor.Client {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s.sock")
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if err := json.NewEncoder(w).Encode(all[0]); err != nil {
			t.Error(err)
		}

		if len(all) > 1 {
			all = all[1:]
		}
	})}

	l := listenAt(t, socket)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l) // it ends when it is closed
	}()

	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	return supervisor.NewClient(socket)
}

// Up tells how the units are while it waits, until they are ready.
func TestWait(t *testing.T) {
	starting := supervisor.Status{
		Phase: supervisor.PhaseStarting,
		Units: []supervisor.UnitStatus{{ID: component.Sole("fabric"), State: component.Starting}},
	}
	ready := supervisor.Status{Phase: supervisor.PhaseReady}
	told := 0
	o := UpOptions{Paths: layout.Paths{Data: t.TempDir()}, Progress: func(p Progress) { told += len(p.Units) }}
	if err := wait(t.Context(), statuses(t, starting, starting, ready), o, nil); err != nil || told != 2 {
		t.Errorf("told of %d units, %v", told, err)
	}
}

// Up names the unit that it waited for when its time is over, and says why a unit failed.
func TestWaitEnds(t *testing.T) {
	o := UpOptions{Paths: layout.Paths{Data: t.TempDir()}, Progress: func(Progress) {}}
	starting := supervisor.Status{Phase: supervisor.PhaseStarting, Units: []supervisor.UnitStatus{
		{ID: component.Sole("fabric"), State: component.Ready},
		{ID: component.Sole("etcd"), State: component.Starting},
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()

	err := wait(ctx, statuses(t, starting), o, nil)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "wait for etcd") {
		t.Errorf("when the time is over: %v", err)
	}
	failed := supervisor.Status{Phase: supervisor.PhaseFailed, Error: "start etcd: the disk is full"}
	err = wait(t.Context(), statuses(t, starting, failed), o, nil)
	if !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("when a unit fails: %v", err)
	}

	ended := make(chan struct{})
	close(ended)
	nobody := supervisor.NewClient(filepath.Join(t.TempDir(), "none.sock"))
	err = wait(t.Context(), nobody, o, ended)
	if !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), "supervisor.log") {
		t.Errorf("when the supervisor has ended: %v", err)
	}
}

// A new cluster gets the proxy of the environment, unless its description names one or none. An environment that
// changes later changes nothing.
func TestSettleProxy(t *testing.T) {
	environ := []string{"HTTPS_PROXY=http://proxy.example:3128", "NO_PROXY=.corp"}
	of := &spec.Proxy{HTTPSProxy: "http://proxy.example:3128", NoProxy: ".corp"}
	for _, tt := range []struct {
		name          string
		wanted        *spec.Proxy
		first, second []string
		want          *spec.Proxy
	}{
		{"of the environment", nil, environ, nil, of},
		{"that comes later", nil, nil, environ, nil},
		{"that nodes cannot use", nil, []string{"HTTP_PROXY=127.0.0.1:3128"}, nil, nil},
		{"none", &spec.Proxy{}, environ, environ, &spec.Proxy{}},
		{"of the description", &spec.Proxy{HTTPProxy: "other:1"}, environ, nil, &spec.Proxy{HTTPProxy: "other:1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			paths := layout.Paths{Data: t.TempDir()}
			for _, environ := range [][]string{tt.first, tt.second} {
				want := unusual(t)
				want.Proxy = tt.wanted
				got, _, err := settle(want, paths, environ)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got.Proxy); diff != "" {
					t.Errorf("with %q: %s", environ, diff)
				}
			}
		})
	}
}
