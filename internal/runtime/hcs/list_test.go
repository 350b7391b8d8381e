package hcs

import (
	"os"
	"testing"
)

// TestProcesses: the processes of a compute system are what its container says of them; one without a program has none.
func TestProcesses(t *testing.T) {
	h := newHost(t)
	h.ok(t, "HcsCreateComputeSystem", "c1", h.document(t, nil))
	if all, err := h.Processes(t.Context(), "c1"); len(all) > 0 || err != nil {
		t.Errorf("before it is started: %v, %v", all, err)
	}
	h.ok(t, "HcsStartComputeSystem", "c1")
	if all, err := h.Processes(t.Context(), "c1"); len(all) > 0 || err != nil {
		t.Errorf("before the first process: %v, %v", all, err)
	}

	h.ok(t, "HcsCreateProcess", "c1", allStreams)
	h.engine.Listed = "process 32 1 2 3 4 5 x.exe\nprocess 36 1 2 3 4 5 y.exe\n"
	all, err := h.Processes(t.Context(), "c1")
	if err != nil || len(all) != 2 || all[1].PID != 36 || all[1].Image != "y.exe" {
		t.Errorf("%+v, %v", all, err)
	}

	left, err := os.ReadDir(h.systems["c1"].workDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if e.Name()[:4] == "list" {
			t.Errorf("%s is left", e.Name())
		}
	}

	h.engine.ListCode = 126
	if _, err := h.Processes(t.Context(), "c1"); err == nil {
		t.Error("the program that lists them failed, and this is no error")
	}
	if _, err := h.Processes(t.Context(), "c2"); err == nil {
		t.Error("a compute system that is not there has processes")
	}
}
