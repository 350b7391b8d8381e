package critest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/engine"
)

// Subject is an engine under test.
type Subject struct {
	Engine cri.Engine
	// Container describes a container whose program runs until it is killed. The suite sets ID and Labels.
	Container engine.Container
	// As, unless nil, makes a container, whose ID and Pod are set, one of the kind under test.
	As func(c engine.Container) engine.Container
	// Pod, unless nil, makes what the containers of a pod are in, and returns what ends it when they are removed.
	Pod func(t *testing.T, pod string) (end func() error)
	// Processes, unless nil, counts a container's processes.
	Processes func(id string) int
	// PodTasks, unless nil, counts the processes and threads of a pod's containers together, and says how many there
	// may be.
	PodTasks func(pod string) (count, most int)
}

// named returns the container under test with an id. The engine tells ids apart by their beginnings.
func (s Subject) named(id string) engine.Container {
	c := s.Container
	c.ID = id
	if s.As != nil {
		c = s.As(c)
	}
	return c
}

const suiteLabel = "mullion.dev/suite"

// EngineSuite checks what the CRI server relies on in every engine, the real one and the fake. The subjects that open
// returns may share a containerd.
func EngineSuite(t *testing.T, open func(t *testing.T) Subject) {
	t.Helper()
	for name, check := range map[string]func(t *testing.T, s Subject, id string){
		"created": suiteCreated,
		"running": suiteRunning,
		"ended":   suiteEnded,
		"removed": suiteRemoved,
		"pod":     suitePod,
		"workdir": suiteWorkDir,
	} {
		t.Run(name, func(t *testing.T) {
			s, id := open(t), "suite-"+name
			s.Container.Labels = map[string]string{suiteLabel: name}
			s.Container = s.named(id)
			t.Cleanup(func() {
				if err := s.Engine.Remove(context.WithoutCancel(t.Context()), id); err != nil {
					t.Errorf("Remove: %v", err)
				}
			})

			if err := s.Engine.Create(t.Context(), s.Container); err != nil {
				t.Fatalf("Create: %v", err)
			}
			check(t, s, id)
		})
	}
}

// suitePod checks that what the containers of a pod share is there until the last of them has ended.
func suitePod(t *testing.T, s Subject, id string) {
	t.Helper()
	const pod = "suite-of-two"
	other, end := "2nd-"+id, func() error { return nil }
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		err := errors.Join(s.Engine.Remove(ctx, id), s.Engine.Remove(ctx, other), end(), s.Engine.RemovePod(pod))
		if err != nil {
			t.Errorf("Remove: %v", err)
		}
	})

	// The one that the suite has made is of no pod.
	if err := s.Engine.Remove(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if s.Pod != nil {
		end = s.Pod(t, pod)
	}

	s.Container.Pod = pod
	for _, c := range []engine.Container{s.named(id), s.named(other)} {
		if err := s.Engine.Create(t.Context(), c); err != nil {
			t.Fatalf("Create: %v", err)
		}
		if _, err := s.Engine.Start(t.Context(), c.ID, engine.IO{}); err != nil {
			t.Fatalf("Start: %v", err)
		}
	}

	if s.PodTasks != nil {
		if count, most := s.PodTasks(pod); count < 2 || most < count {
			t.Errorf("%d processes of the pod are counted, of at most %d", count, most)
		}
	}
	if err := s.Engine.Remove(t.Context(), id); err != nil {
		t.Errorf("Remove: %v", err)
	}

	if err := s.Engine.RemovePod(pod); err == nil {
		t.Error("RemovePod while a container of the pod runs is no error")
	}
	if err := errors.Join(s.Engine.Remove(t.Context(), other), end()); err != nil {
		t.Errorf("Remove: %v", err)
	}

	for range 2 {
		if err := s.Engine.RemovePod(pod); err != nil {
			t.Errorf("RemovePod: %v", err)
		}
	}
}

// suiteWorkDir checks the life of a working folder.
func suiteWorkDir(t *testing.T, s Subject, id string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), id, "run")
	if err := s.Engine.MakeWorkDir(dir); err != nil {
		t.Fatalf("MakeWorkDir: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600); err != nil {
		t.Error(err)
	}

	for range 2 {
		if err := s.Engine.RemoveWorkDir(dir); err != nil {
			t.Errorf("RemoveWorkDir: %v", err)
		}
	}

	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder that was removed: %v", err)
	}
}

// suiteCreated checks a container that was not started.
func suiteCreated(t *testing.T, s Subject, id string) {
	t.Helper()
	if err := s.Engine.Create(t.Context(), s.Container); !errdefs.IsAlreadyExists(err) {
		t.Errorf("a second Create: %v, want AlreadyExists", err)
	}
	expectState(t, s, "created", engine.Created)
	if infos, err := s.Engine.List(t.Context(), suiteLabel, "another"); err != nil || len(infos) > 0 {
		t.Errorf("List of another label: %v, %v", infos, err)
	}

	if _, err := s.Engine.Wait(t.Context(), id); !errdefs.IsNotFound(err) {
		t.Errorf("Wait: %v, want NotFound", err)
	}
	// A server that stops or updates a container need not know whether it runs yet.
	if err := s.Engine.Signal(t.Context(), id, unix.SIGKILL, true); err != nil {
		t.Errorf("Signal: %v", err)
	}

	if err := s.Engine.Update(t.Context(), id, engine.Resources{CPUMaximum: 5000}); err != nil {
		t.Errorf("Update: %v", err)
	}
	if err := s.Engine.CloseStdin(t.Context(), id); err != nil {
		t.Errorf("CloseStdin: %v", err)
	}
	if _, err := s.Engine.Usage(t.Context(), id); err == nil {
		t.Error("Usage of a container that does not run is no error")
	}

	if _, _, err := s.Engine.DiskUsage(t.Context(), id); err != nil {
		t.Errorf("DiskUsage: %v", err)
	}
	program := engine.ExecSpec{
		ID:      "x",
		Args:    []string{"x"},
		FIFODir: t.TempDir(),
	}

	if _, err := s.Engine.Exec(t.Context(), id, program); err == nil {
		t.Error("Exec in a container that does not run is no error")
	}
}

// suiteRunning checks a container that runs.
func suiteRunning(t *testing.T, s Subject, id string) {
	t.Helper()
	if _, err := s.Engine.Start(t.Context(), id, engine.IO{}); err != nil {
		t.Fatalf("Start: %v", err)
	}
	expectState(t, s, "running", engine.Running)
	if s.Processes != nil && s.Processes(id) == 0 {
		t.Error("no process runs in a container that runs")
	}

	if _, err := s.Engine.Start(t.Context(), id, engine.IO{}); err == nil {
		t.Error("a second Start is no error")
	}
	expectState(t, s, "running", engine.Running)
	if _, err := s.Engine.Usage(t.Context(), id); err != nil {
		t.Errorf("Usage: %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Engine.Wait(ctx, id); err == nil || errdefs.IsNotFound(err) {
		t.Errorf("Wait that is given up: %v", err)
	}
	expectState(t, s, "running", engine.Running)
}

// suiteEnded checks a container that was killed.
func suiteEnded(t *testing.T, s Subject, id string) {
	t.Helper()
	if _, err := s.Engine.Start(t.Context(), id, engine.IO{}); err != nil {
		t.Fatalf("Start: %v", err)
	}

	waited := make(chan error, 1)
	go func() {
		exit, err := s.Engine.Wait(t.Context(), id)
		if err == nil && exit.Code != exitKilled {
			err = errors.New("its exit code is not that of a process that was killed")
		}
		waited <- err
	}()

	for range 2 {
		if err := s.Engine.Signal(t.Context(), id, unix.SIGKILL, true); err != nil {
			t.Errorf("Signal: %v", err)
		}
	}

	if err := <-waited; err != nil {
		t.Errorf("Wait: %v", err)
	}
	expectState(t, s, "ended", engine.Exited)
	// When Wait returns, nothing of the container runs: a server tells of an end then.
	program := engine.ExecSpec{
		ID:      "x",
		Args:    []string{"x"},
		FIFODir: t.TempDir(),
	}

	if _, err := s.Engine.Exec(t.Context(), id, program); err == nil {
		t.Error("Exec in a container that has ended is no error")
	}

	if s.Processes != nil {
		if left := s.Processes(id); left > 0 {
			t.Errorf("%d processes run in a container that has ended", left)
		}
	}
	// Wait answers as long as the container exists: a restarted server asks late.
	if exit, err := s.Engine.Wait(t.Context(), id); err != nil || exit.Code != exitKilled || exit.At.IsZero() {
		t.Errorf("Wait for the end of a container that has ended: %v, %v", exit, err)
	}
}

// suiteRemoved checks a container that is removed while it runs.
func suiteRemoved(t *testing.T, s Subject, id string) {
	t.Helper()
	if _, err := s.Engine.Start(t.Context(), id, engine.IO{}); err != nil {
		t.Fatalf("Start: %v", err)
	}
	for range 2 {
		if err := s.Engine.Remove(t.Context(), id); err != nil {
			t.Errorf("Remove: %v", err)
		}
	}

	if infos, err := s.Engine.List(t.Context(), suiteLabel, "removed"); err != nil || len(infos) > 0 {
		t.Errorf("List: %v, %v", infos, err)
	}
	if _, err := s.Engine.Wait(t.Context(), id); !errdefs.IsNotFound(err) {
		t.Errorf("Wait: %v, want NotFound", err)
	}
	if _, err := s.Engine.Start(t.Context(), id, engine.IO{}); err == nil {
		t.Error("Start of a container that is gone is no error")
	}

	if _, _, err := s.Engine.DiskUsage(t.Context(), id); !errdefs.IsNotFound(err) {
		t.Errorf("DiskUsage: %v, want NotFound", err)
	}
	if err := s.Engine.Create(t.Context(), s.Container); err != nil {
		t.Errorf("Create after Remove: %v", err)
	}
}

// expectState checks the one container that List shows for a label.
func expectState(t *testing.T, s Subject, label string, want engine.State) {
	t.Helper()
	infos, err := s.Engine.List(t.Context(), suiteLabel, label)
	if err != nil || len(infos) != 1 || infos[0].State != want || infos[0].ID != s.Container.ID {
		t.Errorf("List: %v, %v, want one container in state %q", infos, err, want)
	}
}
