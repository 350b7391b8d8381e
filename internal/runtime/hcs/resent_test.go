package hcs

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/testrun"
)

// named makes a call with the name of its request, which has to succeed.
func (h *host) named(t *testing.T, name, function string, text ...string) Answer {
	t.Helper()
	a, err := h.Call(WithRequest(t.Context(), name), function, text)
	if err != nil {
		t.Fatalf("%s%q: %v", function, text, err)
	}
	return a
}

// again kills the service, and begins the next one.
func (h *host) again(t *testing.T) {
	t.Helper()
	h.stop()
	h.begin(t)
}

// TestSentAgain: each request is done when the service is killed, and its answer is lost. The next service, and the one
// after that, get it again, and do nothing more.
func TestSentAgain(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	h := newHost(t)
	document := h.document(t, nil)
	for range 3 {
		h.named(t, "create", "HcsCreateComputeSystem", "c1", document)
		h.again(t)
	}
	h.refused(t, AlreadyExists, "HcsCreateComputeSystem", "c1", document)

	for range 3 {
		h.named(t, "start", "HcsStartComputeSystem", "c1")
		h.again(t)
	}
	h.refused(t, InvalidState, "HcsStartComputeSystem", "c1")

	first := h.named(t, "first", "HcsCreateProcess", "c1", allStreams)
	h.again(t)
	if got := h.named(t, "first", "HcsCreateProcess", "c1", allStreams); *got.Process != *first.Process {
		t.Errorf("the first process is %+v, and was %+v", *got.Process, *first.Process)
	}
	if len(h.engine.Created) != 1 || h.engine.Count() != 1 {
		t.Fatalf("%d containers were made, %d programs run", len(h.engine.Created), h.engine.Count())
	}

	later := h.named(t, "later", "HcsCreateProcess", "c1", allStreams)
	h.again(t)
	got := h.named(t, "later", "HcsCreateProcess", "c1", allStreams)
	if *got.Process != *later.Process || h.engine.Count() != 2 {
		t.Fatalf("the later process is %+v, and was %+v; %d programs run", *got.Process, *later.Process, h.engine.Count())
	}

	// It has its streams, and its end is told.
	pid := strconv.Itoa(int(got.Process.PID))
	input, output := h.connect(t, pid, "0"), h.connect(t, pid, "1")
	if _, err := io.WriteString(input, "through"); err != nil {
		t.Fatal(err)
	}
	h.ok(t, "HcsModifyProcess", "c1", pid, `{"Operation":"CloseHandle","CloseHandle":{"Handle":"StdIn"}}`)
	if text, err := io.ReadAll(output); string(text) != "through" || err != nil {
		t.Errorf("the output is %q, %v", text, err)
	}
	event(t, got.Events)

	// One that has ended meanwhile is the same; another request starts another one.
	h.again(t)
	if ended := h.named(t, "later", "HcsCreateProcess", "c1", allStreams); *ended.Process != *later.Process {
		t.Errorf("the later process is %+v, and was %+v", *ended.Process, *later.Process)
	} else if e := event(t, ended.Events); e.Type != ProcessExited {
		t.Errorf("its event is %+v", e)
	}
	other := h.named(t, "other", "HcsCreateProcess", "c1", allStreams)
	if other.Process.PID == later.Process.PID || other.Process.PID == first.Process.PID {
		t.Error("another request gets the same process")
	}
}

// TestSentAgainUndone: a service is killed while a process is being started. The next one ends it, and starts it by the
// request that is sent again, once.
func TestSentAgainUndone(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	h := newHost(t)
	h.ok(t, "HcsCreateComputeSystem", "c1", h.document(t, nil))
	h.ok(t, "HcsStartComputeSystem", "c1")
	h.named(t, "first", "HcsCreateProcess", "c1", allStreams)
	c, err := h.find("c1")
	if err != nil {
		t.Fatal(err)
	}
	h.stop()
	c.starting = c.first
	if err := c.keep(); err != nil {
		t.Fatal(err)
	}

	h.begin(t)
	for range 2 {
		h.named(t, "first", "HcsCreateProcess", "c1", allStreams)
		if len(h.engine.Created) != 2 || h.engine.Count() != 1 {
			t.Fatalf("%d containers were made, %d programs run", len(h.engine.Created), h.engine.Count())
		}
		h.again(t)
	}
}

// TestSentAgainForget: only the latest requests of a compute system are kept.
func TestSentAgainForget(t *testing.T) {
	c := &computeSystem{}
	for n := range 3 * mostDone {
		c.did(strconv.Itoa(n))
	}
	c.did("")
	if len(c.done) != mostDone || c.hasDone("0") || c.hasDone("") || !c.hasDone(strconv.Itoa(3*mostDone-1)) {
		t.Errorf("it keeps %q", c.done)
	}
	if requestOf(context.Background()) != "" {
		t.Error("a call without a name has one")
	}
}

// TestRecordOfOlder: the record of a service that knew no names of requests is taken over.
func TestRecordOfOlder(t *testing.T) {
	h, first, later := killed(t, allStreams)
	record := filepath.Join(h.config.RunDir, h.nameOf("c1"), systemRecord)
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"Done", "Request"} {
		if strings.Contains(string(text), word) {
			t.Errorf("a record without names has %q: %s", word, text)
		}
	}
	h.begin(t)
	h.goesOn(t, first, later)
}
