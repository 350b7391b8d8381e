package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
)

// TestKeeperTellsOfLostOutput has a container whose log is on a full disk. What the keeper says before somebody watches
// it is told, and only once however often it happens.
func TestKeeperTellsOfLostOutput(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	dir := t.TempDir()
	k := &Keeper{said: newMessages(), containers: map[string]*kept{}}
	k.log = k.said.logger()
	streams := Streams{
		ID:      "c1",
		Stdout:  filepath.Join(dir, "out"),
		LogPath: filepath.Join(dir, "log"),
	}

	if err := k.open(t.Context(), streams); err != nil {
		t.Fatal(err)
	}

	fill(t, k.containers["c1"].file)
	out := openEnd(t, streams.Stdout, syscall.O_WRONLY)
	for range 3 {
		if _, err := fmt.Fprintln(out, "lost"); err != nil {
			t.Fatal(err)
		}
	}

	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	<-k.containers["c1"].drained

	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if conn, err := l.Accept(); err == nil {
			k.serve(t.Context(), conn)
		}
	}()

	told := make(chan Message, mostMessages)
	if _, err := NewClient(l.Addr().String(), nil).Watch(t.Context(), func(m Message) { told <- m }); err != nil {
		t.Fatal(err)
	}

	select {
	case m := <-told:
		if m.Level != slog.LevelWarn || m.Container != "c1" || m.Stream != "stdout" || m.Times == 0 ||
			!strings.Contains(m.Error, "no space left") || time.Since(m.Time) > time.Minute {
			t.Errorf("told %+v", m)
		}
	case <-time.After(10 * time.Second):
		t.Error("nothing is told")
	}
}

// fill makes a log one on a full disk.
func fill(t *testing.T, l *logFile) {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.file.Close()
	l.file = full
}

func TestMessagesWaitForTheNext(t *testing.T) {
	m := newMessages()
	for i := range mostMessages + 3 {
		m.logger().Info("told", "times", i+1)
	}
	if len(m.waiting) != mostMessages || m.lost.Load() != 3 {
		t.Errorf("%d wait, %d are lost", len(m.waiting), m.lost.Load())
	}
}

func TestLosses(t *testing.T) {
	m, now := newMessages(), time.Now()
	l := losses{
		log:  m.logger(),
		text: "lost",
		now:  func() time.Time { return now },
	}
	for range 1000 {
		l.add(context.WithoutCancel(t.Context()), errors.New("full"))
	}

	if len(m.waiting) != 1 {
		t.Errorf("%d messages of one moment, want 1", len(m.waiting))
	}
	now = now.Add(sayInterval)
	l.add(t.Context(), errors.New("full"))
	l.say(t.Context())
	if len(m.waiting) != 2 {
		t.Errorf("%d messages of two minutes, want 2", len(m.waiting))
	}
}
