package hcs

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/runtime/cri/stream"
)

// killed is a host on which c1 runs a first process and one as it is asked for later, and whose service has ended as by
// a kill.
func killed(t *testing.T, asked string) (h *host, first, later string) {
	t.Helper()
	h = newHost(t)
	h.ok(t, "HcsCreateComputeSystem", "c1", h.document(t, nil))
	h.ok(t, "HcsStartComputeSystem", "c1")
	first = strconv.Itoa(int(h.ok(t, "HcsCreateProcess", "c1", allStreams).Process.PID))
	later = strconv.Itoa(int(h.ok(t, "HcsCreateProcess", "c1", asked).Process.PID))
	h.stop()
	return h, first, later
}

// goesOn checks that c1 and its processes run, and that it ends when it is told to.
func (h *host) goesOn(t *testing.T, first, later string) {
	t.Helper()
	if got := h.engine.Count(); got != 2 { // the container and its later program
		t.Fatalf("%d of 2 programs run", got)
	}
	system := h.ok(t, "HcsOpenComputeSystem", "c1")
	for _, pid := range []string{first, later} {
		h.ok(t, "HcsOpenProcess", "c1", pid)
		status := h.ok(t, "HcsGetProcessProperties", "c1", pid)
		if want := `{"ProcessId":` + pid + `,"Exited":false,"ExitCode":0,"LastWaitResult":0}`; status.Text != want {
			t.Errorf("a process is %s, want %s", status.Text, want)
		}
	}

	h.ok(t, "HcsTerminateComputeSystem", "c1")
	event(t, system.Events)
	if left, err := os.ReadDir(h.config.RunDir); len(left) > 0 || err != nil || h.engine.Count() > 0 {
		t.Errorf("left of the compute system: %v, %v", left, err)
	}
}

// soon waits for what the service does in the background.
func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// TestTakenOver: what fails while a service takes over a compute system ends nothing that runs.
func TestTakenOver(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	for name, fault := range map[string]func(t *testing.T, h *host){
		"nothing": func(*testing.T, *host) {},
		"network": func(_ *testing.T, h *host) { delete(h.config.Networks.(networks), "known") },
		"scratch": func(t *testing.T, h *host) {
			t.Helper()
			all, err := filepath.Glob(filepath.Join(h.config.StateDir, "scratch", "*", preparedFile))
			if err != nil || len(all) != 1 || os.Remove(all[0]) != nil {
				t.Fatalf("the scratch's record is not removed: %v, %v", all, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			testrun.Once(t, testrun.Loss)
			h, first, later := killed(t, allStreams)
			fault(t, h)
			h.begin(t)
			h.goesOn(t, first, later)
		})
	}
}

// TestNotTakenOverYet: a service that cannot know what runs does not begin, and ends nothing; the next one does.
func TestNotTakenOverYet(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	h, first, later := killed(t, allStreams)
	record := filepath.Join(h.config.RunDir, h.nameOf("c1"), systemRecord)
	begin := func() error {
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		defer cancel()
		_, err := New(ctx, h.config)
		return err
	}

	h.engine.Fail("List", 1)
	if err := begin(); err == nil {
		t.Error("a service begins that cannot list containers")
	}

	// A folder cannot be read as a file, and is there.
	if err := errors.Join(os.Rename(record, record+".away"), os.Mkdir(record, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := begin(); err == nil {
		t.Error("a service begins that cannot read a record")
	}
	if err := os.Rename(record+".away", filepath.Join(record, "..", "kept")); err != nil {
		t.Fatal(err)
	}
	err := errors.Join(os.Remove(record), os.Rename(filepath.Join(filepath.Dir(record), "kept"), record))
	if err != nil {
		t.Fatal(err)
	}

	h.begin(t)
	h.goesOn(t, first, later)
}

// TestTakenOverWithoutKeeper: processes go on while no keeper of streams can be started, and have one as soon as one
// can.
func TestTakenOverWithoutKeeper(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	h, first, later := killed(t, `{"CommandLine":"x.exe","CreateStdOutPipe":true}`) // an input ends with its keeper
	if err := h.config.Keeper.Quit(t.Context()); err != nil {
		t.Fatal(err)
	}

	var tries atomic.Int32
	var absent atomic.Bool
	absent.Store(true)
	socket := filepath.Join(filepath.Dir(h.config.RunDir), "later.sock")
	keeping, end := context.WithCancel(context.WithoutCancel(t.Context()))
	var serving sync.WaitGroup
	t.Cleanup(func() { end(); serving.Wait() }) // it has files in the test's folder
	h.config.Keeper = stream.NewClient(socket, func(context.Context) error {
		tries.Add(1)
		if absent.Load() {
			return errors.New("there is no process for it")
		}
		serving.Go(func() { _ = stream.Serve(keeping, socket) })
		return nil
	})

	h.begin(t)
	h.ok(t, "HcsOpenProcess", "c1", later)
	soon(t, "a keeper is tried", func() bool { return tries.Load() > 0 })
	absent.Store(false)
	soon(t, "the keeper has the streams", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		c, err := h.find("c1")
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.process(first)
		if err != nil {
			t.Fatal(err)
		}
		// A keeper that does not have the process refuses; in one that has, its input is over: nobody sends any more.
		return h.config.Keeper.AwaitInput(ctx, p.streams.set.ID) == nil
	})
	h.goesOn(t, first, later)
}

// TestNetworkOfTheFirst: a compute system that was taken over without its network has it when its first process starts,
// or its first process does not start.
func TestNetworkOfTheFirst(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	h := newHost(t)
	h.ok(t, "HcsCreateComputeSystem", "c1", h.document(t, nil))
	h.ok(t, "HcsStartComputeSystem", "c1")
	h.stop()
	known := h.config.Networks.(networks)
	delete(known, "known")
	h.begin(t)
	h.refused(t, NoElement, "HcsCreateProcess", "c1", allStreams)
	known["known"] = nil
	h.ok(t, "HcsCreateProcess", "c1", allStreams)
	if got := h.engine.Created[0].NetNS; got != "/ns" {
		t.Errorf("the container's network is %q", got)
	}
}

// TestUndoneLater: a process that nobody was told of is ended, also if that fails at first; until then there is no
// other one in its place.
func TestUndoneLater(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	h := newHost(t)
	h.ok(t, "HcsCreateComputeSystem", "c1", h.document(t, nil))
	h.ok(t, "HcsStartComputeSystem", "c1")
	h.ok(t, "HcsCreateProcess", "c1", allStreams)
	c, err := h.find("c1")
	if err != nil {
		t.Fatal(err)
	}

	h.stop()
	c.starting = c.first // as a service leaves it that is killed before the start is over
	if err := c.keep(); err != nil {
		t.Fatal(err)
	}
	h.engine.Fail("Remove", 1)
	h.begin(t)
	if h.engine.Count() != 1 {
		t.Fatal("the process has ended at once: the test says nothing")
	}

	h.ok(t, "HcsCreateProcess", "c1", allStreams)
	if len(h.engine.Created) != 2 || h.engine.Count() != 1 {
		t.Errorf("%d containers were made, %d are there", len(h.engine.Created), h.engine.Count())
	}

	// The next service knows of the second one alone.
	h.stop()
	h.begin(t)
	if h.engine.Count() != 1 {
		t.Error("the second process is not there")
	}
}

// TestReleasedByTheNext: what a process had that has ended is given back by the next service if this one ends while the
// output still waits for its reader, who gets all of it.
func TestReleasedByTheNext(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	h := newHost(t)
	h.ok(t, "HcsCreateComputeSystem", "c1", h.document(t, nil))
	h.ok(t, "HcsStartComputeSystem", "c1")
	h.ok(t, "HcsCreateProcess", "c1", allStreams)
	later := h.ok(t, "HcsCreateProcess", "c1", allStreams)
	pid := strconv.Itoa(int(later.Process.PID))
	c, err := h.find("c1")
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.process(pid)
	if err != nil {
		t.Fatal(err)
	}

	input, output := h.filled(t, pid)
	h.ok(t, "HcsTerminateProcess", "c1", pid)
	event(t, later.Events)

	h.stop()
	if got := h.engine.Forgotten(); len(got) > 0 {
		t.Fatalf("%q are forgotten while their output waits for its reader", got)
	}
	if _, err := os.Stat(p.streams.folder()); err != nil {
		t.Fatalf("the next service does not know of the process: %v", err)
	}
	h.begin(t)
	_ = input.Close() // the engine of the test goes on copying
	go func() { _, _ = io.Copy(io.Discard, output) }()
	soon(t, "the process is forgotten", func() bool { return len(h.engine.Forgotten()) == 1 })
	soon(t, "its FIFOs are gone", func() bool {
		_, err := os.Stat(p.streams.folder())
		return errors.Is(err, os.ErrNotExist)
	})

	// A third service has nothing to do.
	h.stop()
	h.begin(t)
	h.stop()
	if got := h.engine.Forgotten(); len(got) != 1 {
		t.Errorf("forgotten are %q", got)
	}
}

// TestDiscarded: what nobody can know is removed, also if that fails at first; until then nothing has its name.
func TestDiscarded(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	h, _, _ := killed(t, allStreams)
	record := filepath.Join(h.config.RunDir, h.nameOf("c1"), systemRecord)
	if err := os.WriteFile(record, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.engine.Fail("Remove", 1)
	h.begin(t)
	h.refused(t, NotFound, "HcsOpenComputeSystem", "c1")
	h.refused(t, InvalidState, "HcsCreateComputeSystem", "c1", h.document(t, nil))
	soon(t, "the container is removed", func() bool { return h.engine.Count() == 0 })
	soon(t, "its name is free", func() bool {
		_, err := h.Call(t.Context(), "HcsCreateComputeSystem", []string{"c1", h.document(t, nil)})
		return err == nil
	})
}

// TestDoomed: the scratch of a layer that is destroyed while its compute system ends goes with the system also if
// another service ends it, and one without a user with the next service.
func TestDoomed(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	h, _, _ := killed(t, allStreams)
	scratches := filepath.Join(h.config.StateDir, "scratch")
	h.begin(t)
	c, err := h.find("c1")
	if err != nil {
		t.Fatal(err)
	}

	c.mu.Lock()
	c.state = Stopped
	err = c.keep()
	c.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	h.layers.leave(c.scratch)
	h.ok(t, "DestroyLayer", scratchPath)
	h.stop()

	other := filepath.Join(scratches, "00000000-0000-0000-0000-000000000001")
	err = errors.Join(os.Mkdir(other, 0o755), os.WriteFile(filepath.Join(other, doomedFile), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	h.begin(t)
	soon(t, "the scratches are removed", func() bool {
		left, err := os.ReadDir(scratches)
		return err == nil && len(left) == 0
	})
}

// TestPreparedAgain: a scratch that was to be removed, and could not be, is kept from when it is prepared again.
func TestPreparedAgain(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	h := newHost(t)
	h.document(t, nil)
	all, err := filepath.Glob(filepath.Join(h.config.StateDir, "scratch", "*"))
	if err != nil || len(all) != 1 {
		t.Fatalf("scratches: %v, %v", all, err)
	}
	doomed := filepath.Join(all[0], doomedFile)
	if err := os.WriteFile(doomed, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	h.ok(t, "PrepareLayer", scratchPath, baseLayer+"\n")
	if _, err := os.Stat(doomed); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the next service is to remove the scratch: %v", err)
	}
	h.stop()
	h.begin(t)
	if _, err := os.Stat(all[0]); err != nil {
		t.Errorf("the scratch is gone: %v", err)
	}
}

// TestHoldersComeBack: the time in which somebody has to open a compute system again begins when programs can.
func TestHoldersComeBack(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.ok(t, "HcsCreateComputeSystem", "c1", h.document(t, map[string]any{"ShouldTerminateOnLastHandleClosed": true}))
		h.stop()
		open := make(chan struct{})
		h.config.Open = open
		h.begin(t)

		time.Sleep(10 * comeBack)
		synctest.Wait()
		if !h.Has("c1") {
			t.Fatal("the compute system has ended before anybody could open it")
		}
		close(open)
		time.Sleep(comeBack - time.Second)
		synctest.Wait()
		if !h.Has("c1") {
			t.Fatal("the compute system has ended too early")
		}

		time.Sleep(2 * time.Second)
		synctest.Wait()
		if h.Has("c1") {
			t.Error("nobody has the compute system open, and it has not ended")
		}
	})
}
