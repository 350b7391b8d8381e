package stream

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLineWriter(t *testing.T) {
	at := func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC) }
	const stamp = "2026-01-02T03:04:05.000000006Z stdout "
	long := strings.Repeat("x", maxLine+5)
	for _, tc := range []struct {
		name   string
		writes []string
		want   string
	}{
		{name: "lines", writes: []string{"a\nb\n"}, want: stamp + "F a\n" + stamp + "F b\n"},
		{name: "in-parts", writes: []string{"a", "b\nc", "\n"}, want: stamp + "F ab\n" + stamp + "F c\n"},
		{name: "without-end", writes: []string{"a\nlast"}, want: stamp + "F a\n" + stamp + "P last\n"},
		{name: "empty-line", writes: []string{"\n"}, want: stamp + "F \n"},
		{name: "long", writes: []string{long + "\n"}, want: stamp + "P " + long[:maxLine] + "\n" + stamp + "F xxxxx\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sub", "0.log")
			log, err := openLog(path)
			if err != nil {
				t.Fatal(err)
			}

			w := &Lines{
				log:    log,
				stream: "stdout",
				now:    at,
			}

			for _, text := range tc.writes {
				if _, err := w.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
			}

			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

// serveKeeper runs a keeper in this process and returns its client.
func serveKeeper(t *testing.T) *Client {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "k.sock")
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	c := NewClient(socket, func(context.Context) error {
		go func() { done <- Serve(ctx, socket) }()
		return nil
	})

	if started, err := c.Ensure(t.Context()); err != nil || !started {
		t.Fatalf("Ensure: %v %v", started, err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})

	return c
}

func TestKeeperLogsAttachesAndRotates(t *testing.T) {
	c := serveKeeper(t)
	if started, err := c.Ensure(t.Context()); err != nil || started {
		t.Errorf("a second Ensure: %v %v", started, err)
	}

	dir := t.TempDir()
	s := Streams{
		ID:      "c1",
		Stdin:   filepath.Join(dir, "in"),
		Stdout:  filepath.Join(dir, "out"),
		Stderr:  filepath.Join(dir, "err"),
		LogPath: filepath.Join(dir, "0.log"),
	}

	for range 2 { // opening twice is opening once
		if err := c.Open(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}

	out := openEnd(t, s.Stdout, os.O_WRONLY)
	errs := openEnd(t, s.Stderr, os.O_WRONLY)
	in := openEnd(t, s.Stdin, os.O_RDONLY)
	typed, typing := io.Pipe()
	var got bytes.Buffer
	ended, attached := make(chan struct{}), make(chan error, 1)
	go func() {
		attached <- c.Attach(t.Context(), "c1", AttachSpec{
			Stdin:    typed,
			Stdout:   &got,
			StdinEnd: func() { close(ended) },
		})
	}()

	if _, err := typing.Write([]byte("question\n")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 64)
	n, err := in.Read(buf) // the answer comes after the client is there
	if err != nil || string(buf[:n]) != "question\n" {
		t.Fatalf("input: %q %v", buf[:n], err)
	}

	if _, err := out.WriteString("answer\n"); err != nil {
		t.Fatal(err)
	}
	_ = typing.Close()
	<-ended
	waitFor(t, s.LogPath, "answer")
	if err := os.Rename(s.LogPath, s.LogPath+".1"); err != nil {
		t.Fatal(err)
	}

	if err := c.Reopen(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
	if _, err := errs.WriteString("complaint"); err != nil {
		t.Fatal(err)
	}

	_, _ = out.Close(), errs.Close()
	if err := c.Drain(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
	if err := <-attached; err != nil {
		t.Errorf("Attach: %v", err)
	}

	if got.String() != "answer\n" {
		t.Errorf("attached client got %q", got.String())
	}
	if text := waitFor(t, s.LogPath, "complaint"); !regexp.MustCompile(`^\S+ stderr P complaint\n$`).MatchString(text) {
		t.Errorf("log after rotation: %q", text)
	}
	if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
		t.Errorf("input after its end: %q %v", rest, err)
	}

	for range 2 {
		if err := c.Forget(t.Context(), "c1"); err != nil {
			t.Error(err)
		}
	}

	if err := c.Reopen(t.Context(), "c1"); err == nil {
		t.Error("a forgotten container's log was reopened")
	}
}

// TestInputIsCompleteBeforeItsEnd attaches with input that ends at once.
func TestInputIsCompleteBeforeItsEnd(t *testing.T) {
	c := serveKeeper(t)
	dir := t.TempDir()
	want := strings.Repeat("0123456789abcdef\n", 3000) // several frames, less than a FIFO holds
	for i := range 50 {
		id := fmt.Sprintf("c%d", i)
		s := Streams{
			ID:     id,
			Stdin:  filepath.Join(dir, id+"-in"),
			Stdout: filepath.Join(dir, id+"-out"),
		}
		if err := c.Open(t.Context(), s); err != nil {
			t.Fatal(err)
		}

		out, in := openEnd(t, s.Stdout, os.O_WRONLY), openEnd(t, s.Stdin, os.O_RDONLY)
		attached := make(chan error, 1)
		go func() {
			attached <- c.Attach(t.Context(), id, AttachSpec{Stdin: strings.NewReader(want), StdinEnd: func() {}})
		}()
		if got, err := io.ReadAll(in); err != nil || string(got) != want {
			t.Fatalf("container %d read %d bytes of %d: %v", i, len(got), len(want), err)
		}

		_ = out.Close()
		if err := <-attached; err != nil {
			t.Error(err)
		}
	}
}

// TestOutputOfAShortLifeIsKept: a program may write and end before the keeper's goroutines have come to run.
func TestOutputOfAShortLifeIsKept(t *testing.T) {
	c := serveKeeper(t)
	dir := t.TempDir()
	for i := range 50 {
		id := fmt.Sprintf("c%d", i)
		s := Streams{
			ID:      id,
			Stdout:  filepath.Join(dir, id+"-out"),
			LogPath: filepath.Join(dir, id+".log"),
		}
		if err := c.Open(t.Context(), s); err != nil {
			t.Fatal(err)
		}

		// As a shim does, which has both ends open so that it does not wait for the other side.
		out := openEnd(t, s.Stdout, os.O_RDWR|syscall.O_NONBLOCK)
		if _, err := out.WriteString("all\n"); err != nil {
			t.Fatal(err)
		}

		_ = out.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		err := c.Drain(ctx, id)
		cancel()
		if err != nil {
			t.Fatalf("container %d: %v", i, err)
		}

		if log, err := os.ReadFile(s.LogPath); err != nil || !strings.HasSuffix(string(log), " stdout F all\n") {
			t.Fatalf("log of container %d: %q, %v", i, log, err)
		}
	}
}

// TestDyingKeeperIsReplaced has a socket that takes connections but never answers, locked as by a keeper: that of a
// process which has been killed and is not gone yet.
func TestDyingKeeperIsReplaced(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "k.sock")
	lock, err := lockSocket(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	dying, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}

	go func() {
		if conn, err := dying.Accept(); err == nil {
			_, _ = dying.Close(), conn.Close()
		}
	}()

	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	c := NewClient(socket, func(context.Context) error {
		go func() { served <- Serve(ctx, socket) }()
		return lock.Close() // the process is gone
	})
	if started, err := c.Ensure(t.Context()); err != nil || !started {
		t.Errorf("Ensure: started %v, %v; want one to be started", started, err)
	}

	if err := c.Open(t.Context(), Streams{ID: "c1"}); err != nil {
		t.Errorf("Open: %v", err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestOneKeeperOnASocket(t *testing.T) {
	c := serveKeeper(t)
	err := Serve(t.Context(), c.socket)
	if err == nil || !strings.Contains(err.Error(), "another keeper does") {
		t.Errorf("a second keeper: %v", err)
	}
	if started, err := c.Ensure(t.Context()); err != nil || started {
		t.Errorf("Ensure: started %v, %v; want the one that is there", started, err)
	}

	ended, err := c.Watch(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
		t.Error("a keeper that lives is told to have ended")
	case <-time.After(50 * time.Millisecond):
	}

	if err := c.Quit(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-ended
	if _, err := c.Watch(t.Context(), nil); err == nil {
		t.Error("there is a keeper to watch after its end")
	}
}

func openEnd(t *testing.T, fifo string, flag int) *os.File {
	t.Helper()
	f, err := os.OpenFile(fifo, flag|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func waitFor(t *testing.T, path, text string) string {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		data, _ := os.ReadFile(path)
		if strings.Contains(string(data), text) {
			return string(data)
		}
		select {
		case <-deadline:
			t.Fatalf("log %q lacks %q: %q", path, text, data)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
