//go:build linux

package supervisor_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/process/supervisor"
)

// TestRestart has a unit's process ended and started anew, tells why one does not start, and tells that it is ready
// again later.
func TestRestart(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad")
	sleeper := proc.New(proc.Spec{
		ID:      component.OfNode("kubelet", "win-1"),
		Path:    "/bin/sh",
		Args:    []string{"-c", "if [ -e " + bad + " ]; then echo no such flag; exit 1; fi; exec sleep 1000"},
		Env:     []string{"PATH=/usr/bin:/bin"},
		LogPath: filepath.Join(dir, "log"),
		Ready: func(context.Context) error {
			if _, err := os.Stat(bad); err == nil {
				return errors.New("not yet")
			}
			return nil
		},
	})

	client, ended := runUnits(t, []component.Unit{{Component: sleeper}})
	await(t, client, supervisor.PhaseReady)
	pid := sleeper.State().PID
	if err := client.Restart(t.Context(), component.OfNode("kubelet", "win-1")); err != nil {
		t.Fatal(err)
	}
	if now := sleeper.State().PID; now == pid || now == 0 {
		t.Errorf("the process is %d, and was %d", now, pid)
	}

	becomes(t, pid, "gone")
	if err := client.Restart(t.Context(), component.OfNode("kubelet", "win-2")); err == nil || !strings.Contains(err.Error(), "no such unit") {
		t.Errorf("of no unit: %v", err)
	}

	if err := os.WriteFile(bad, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := client.Restart(t.Context(), component.OfNode("kubelet", "win-1")); err == nil || !strings.Contains(err.Error(), "no such flag") {
		t.Errorf("of one that ends at once: %v", err)
	}
	if s := await(t, client, supervisor.PhaseReady); s.Units[0].State != component.Failed || s.Units[0].Error == "" {
		t.Errorf("it is told as %+v", s.Units[0])
	}

	if err := os.Remove(bad); err != nil {
		t.Fatal(err)
	}
	if err := client.Restart(t.Context(), component.OfNode("kubelet", "win-1")); err != nil {
		t.Errorf("of one that failed: %v", err)
	}
	if s := await(t, client, supervisor.PhaseReady); s.Units[0].State != component.Ready || s.Units[0].Error != "" {
		t.Errorf("it is told as %+v", s.Units[0])
	}

	if err := client.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestStopAndStartUnits has two units stopped and started anew, tells them as stopped, and refuses what is no unit.
func TestStopAndStartUnits(t *testing.T) {
	sleeper := func(id component.ID) *proc.Process {
		return proc.New(proc.Spec{
			ID:      id,
			Path:    "/bin/sleep",
			Args:    []string{"1000"},
			LogPath: filepath.Join(t.TempDir(), "log"),
		})
	}

	units := []component.ID{component.OfNode("host", "a b"), component.OfNode("kubelet", "a b")}
	host, kubelet := sleeper(units[0]), sleeper(units[1])
	client, ended := runUnits(t, []component.Unit{{Component: host}, {Component: kubelet, After: units[:1]}})
	await(t, client, supervisor.PhaseReady)
	pids := []int{host.State().PID, kubelet.State().PID}
	if err := client.StopUnits(t.Context(), units); err != nil {
		t.Fatal(err)
	}

	for _, pid := range pids {
		becomes(t, pid, "gone")
	}

	for _, u := range await(t, client, supervisor.PhaseReady).Units {
		if u.State != component.Stopped || u.PID != 0 {
			t.Errorf("it is told as %+v", u)
		}
	}

	err := client.StartUnits(t.Context(), component.Soles("none"))
	if err == nil || !strings.Contains(err.Error(), "no such unit") {
		t.Errorf("of no unit: %v", err)
	}
	if err := client.StartUnits(t.Context(), units); err != nil {
		t.Fatal(err)
	}

	for i, p := range []*proc.Process{host, kubelet} {
		if now := p.State().PID; now == 0 || now == pids[i] {
			t.Errorf("the process is %d, and was %d", now, pids[i])
		}
	}

	if err := errors.Join(client.Stop(t.Context()), <-ended); err != nil {
		t.Fatal(err)
	}
}
