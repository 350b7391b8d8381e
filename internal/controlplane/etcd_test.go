package controlplane

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
)

// etcdOf returns etcd with a program in its place that never ends by itself. Who asks whether it serves makes its data.
func etcdOf(dir string, serves bool) etcd {
	data := filepath.Join(dir, "member")
	ready := func(context.Context) error {
		if err := os.MkdirAll(data, 0o700); err != nil || serves {
			return err
		}
		return errors.New("it has no leader")
	}

	return etcd{dir: dir, Process: proc.New(proc.Spec{
		ID:           component.Sole(Etcd),
		Path:         "/bin/sleep",
		Args:         []string{"1000"},
		Env:          os.Environ(),
		LogPath:      filepath.Join(dir, "etcd.log"),
		Ready:        ready,
		ReadyTimeout: time.Second,
		StopSignal:   syscall.SIGKILL,
	})}
}

// Data that never served is made anew at the next start; what has served once is kept, and so is that of an etcd from
// before there was a mark.
func TestEtcdThatNeverServed(t *testing.T) {
	at := func(dir string) string { return filepath.Join(dir, "member", "kept") }

	for name, tt := range map[string]struct {
		// before says of each start before the last one whether etcd served.
		before []bool
		kept   bool
	}{
		"of an earlier version":     {before: nil, kept: true},
		"never served":              {before: []bool{false}, kept: false},
		"served":                    {before: []bool{true}, kept: true},
		"served, then did not":      {before: []bool{true, false}, kept: true},
		"never, then served":        {before: []bool{false, true}, kept: true},
		"never served, a second no": {before: []bool{false, false}, kept: false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			run := func(serves bool) {
				e := etcdOf(dir, serves)
				if err := e.Start(t.Context()); (err == nil) != serves {
					t.Errorf("start: %v", err)
				}
				if err := e.Stop(t.Context()); err != nil {
					t.Errorf("stop: %v", err)
				}
			}

			for _, serves := range tt.before {
				run(serves)
			}

			if err := os.MkdirAll(filepath.Dir(at(dir)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at(dir), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			run(true)

			if _, err := os.Stat(at(dir)); (err == nil) != tt.kept {
				t.Errorf("its data: %v, want it kept: %t", err, tt.kept)
			}
		})
	}
}
