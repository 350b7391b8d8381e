package shim

import (
	"bytes"
	"encoding/binary"
	"math"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/containerd/log"
	"github.com/containerd/ttrpc"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// TestTimes: what a guest says of an end is a time of its machine's life, which can be written down.
func TestTimes(t *testing.T) {
	m := &machine{began: time.Now().Add(-time.Minute)}
	for name, told := range map[string]*timestamppb.Timestamp{
		"none": nil, "first": {}, "before": {Seconds: math.MinInt64}, "year 10000": {Seconds: 253402300800},
		"never": {Seconds: math.MaxInt64}, "no time": {Seconds: 1, Nanos: -5}, "later": timestamppb.New(time.Now().Add(time.Hour)),
	} {
		at := m.within(told).AsTime()
		if at.Before(m.began) || at.After(time.Now()) {
			t.Errorf("%s: %v", name, at)
		}
		if _, err := at.MarshalJSON(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	if told := timestamppb.New(m.began.Add(time.Second)); !m.within(told).AsTime().Equal(told.AsTime()) {
		t.Errorf("a time of the machine's life becomes %v", m.within(told).AsTime())
	}
}

// TestFlood: a guest that answers what nobody has asked, without end, has a line written for each answer, up to a
// bound. After a minute lines are written again.
func TestFlood(t *testing.T) {
	now := time.Now()
	var written bytes.Buffer
	bound := &boundedLog{to: &written, now: func() time.Time { return now }}
	logger := log.L.Logger
	was := logger.Out
	logger.SetOutput(bound)
	defer logger.SetOutput(was)

	ours, guests := net.Pipe()
	closed := make(chan struct{})
	client := ttrpc.NewClient(ours, ttrpc.WithOnClose(func() { close(closed) }))
	frame := make([]byte, 10) // https://github.com/containerd/ttrpc/blob/main/PROTOCOL.md: no data, an answer
	binary.BigEndian.PutUint32(frame[4:], 77)
	frame[8] = 2
	const answers = 20 * mostLines
	for range answers {
		if _, err := guests.Write(frame); err != nil {
			t.Fatal(err)
		}
	}

	_ = guests.Close()
	<-closed
	_ = client.Close()
	if lines := bytes.Count(written.Bytes(), []byte("\n")); lines != mostLines {
		t.Errorf("%d lines are written of %d answers", lines, answers)
	}

	written.Reset()
	now = now.Add(time.Minute)
	log.L.Error("the next minute")
	if got := written.String(); bytes.Count(written.Bytes(), []byte("\n")) != 2 || !bytes.Contains(written.Bytes(), []byte("next")) ||
		!bytes.HasPrefix(written.Bytes(), []byte("1900 lines were left out\n")) {
		t.Errorf("the next minute has %q", got)
	}
}

// TestOOMScore: what the shim starts is killed as soon as it says, and not as late as containerd.
func TestOOMScore(t *testing.T) {
	const file = "/proc/self/oom_score_adj"
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.WriteFile(file, was, 0) }() // only root may
	if err := setOOMScore(999); err != nil {
		t.Fatal(err)
	}

	out, err := exec.CommandContext(t.Context(), "cat", file).Output()
	if err != nil || string(out) != "999\n" {
		t.Errorf("the score is %q, %v", out, err)
	}
}

// TestOutOfMemoryPauses: of a guest's events that a container is out of memory, one a second is told.
func TestOutOfMemoryPauses(t *testing.T) {
	told, now := pauses{}, time.Now()
	for i, step := range []struct {
		after time.Duration
		id    string
		want  bool
	}{{0, "a", true}, {0, "a", false}, {0, "b", true}, {oomPause / 2, "a", false}, {oomPause / 2, "a", true}} {
		now = now.Add(step.after)
		if got := told.over(step.id, now); got != step.want {
			t.Errorf("event %d: %v", i, got)
		}
	}
}
