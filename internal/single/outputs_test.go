package single

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/runtime/cri/stream"
)

// kept is a client's end that keeps what it gets, until it is broken.
type kept struct {
	bytes.Buffer
	broken, closed bool
}

func (k *kept) Write(p []byte) (int, error) {
	if k.broken || k.closed {
		return 0, errors.New("broken")
	}
	return k.Buffer.Write(p)
}

func (k *kept) Close() error {
	k.closed = true
	return nil
}

// full is a log on a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// pieces are read one by one.
func pieces(texts ...string) io.Reader {
	var all []io.Reader
	for _, text := range texts {
		all = append(all, strings.NewReader(text))
	}
	return io.MultiReader(all...)
}

// texts returns what records say, without their times.
func texts(log string) (out []string) {
	for line := range strings.Lines(log) {
		_, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		out = append(out, text)
	}
	return out
}

// TestPass: what a program says goes to its log and to its client as it is. A client that is gone, or a disk that is
// full, takes nothing from the other.
func TestPass(t *testing.T) {
	var log bytes.Buffer
	client := &kept{}
	pass(pieces("one\ntw", "o\n\x00\xff", "half"), stream.NewLines(&log, "stderr"), client, nil, func() {})
	if client.String() != "one\ntwo\n\x00\xffhalf" || !client.closed {
		t.Errorf("the client has %q, closed %v", client.String(), client.closed)
	}
	if got := strings.Join(texts(log.String()), "|"); got != "stderr F one|stderr F two|stderr P \x00\xffhalf" {
		t.Errorf("the log has %q", got)
	}

	log.Reset()
	client = &kept{broken: true}
	pass(pieces("one\n", "two\n"), stream.NewLines(&log, "stdout"), client, nil, func() {})
	if got := strings.Join(texts(log.String()), "|"); got != "stdout F one|stdout F two" || !client.closed {
		t.Errorf("without its client the log has %q, closed %v", got, client.closed)
	}

	client = &kept{}
	pass(pieces("one\n", "two\n"), stream.NewLines(full{}, "stdout"), client, nil, func() {})
	if client.String() != "one\ntwo\n" {
		t.Errorf("without a log the client has %q", client.String())
	}

	log.Reset()
	pass(pieces("one\n"), stream.NewLines(&log, "stdout"), nil, nil, func() {})
	if got := texts(log.String()); len(got) != 1 {
		t.Errorf("without a client: %q", got)
	}
}

// TestPassToASlowClient: while a program runs, it waits for its client; what it has left when it ends is read and
// logged at once, and its client gets it when it reads.
func TestPassToASlowClient(t *testing.T) {
	from, program := io.Pipe()
	client, to := io.Pipe()
	ended, logged := make(chan struct{}), make(chan struct{})
	passed := make(chan struct{})
	var log bytes.Buffer
	go func() {
		defer close(passed)
		pass(from, stream.NewLines(&log, "stdout"), to, ended, func() { close(logged) })
	}()

	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		for _, line := range []string{"one\n", "two\n", "three\n"} {
			if _, err := io.WriteString(program, line); err != nil {
				t.Error(err)
			}
		}
		_ = program.Close()
	}()

	select {
	case <-wrote:
		t.Error("the program does not wait for its client")
	case <-time.After(50 * time.Millisecond):
	}

	close(ended)
	<-logged
	if got := strings.Join(texts(log.String()), "|"); got != "stdout F one|stdout F two|stdout F three" {
		t.Errorf("the log has %q", got)
	}
	if got, err := io.ReadAll(client); string(got) != "one\ntwo\nthree\n" || err != nil {
		t.Errorf("the client has %q, %v", got, err)
	}
	<-passed
}

// TestContainerLog: what is lost is said once, and after its end nothing is written.
func TestContainerLog(t *testing.T) {
	var said bytes.Buffer
	path := filepath.Join(t.TempDir(), "logs", "a.log")
	l, err := openContainerLog(path, logging.New(&said, logging.Info))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Write([]byte("record\n")); err != nil {
		t.Error(err)
	}

	if err := l.file.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := l.Write([]byte("lost\n")); err == nil {
			t.Error("what is lost is no error")
		}
	}

	if n := strings.Count(said.String(), "output of a container is lost"); n != 1 {
		t.Errorf("it is said %d times: %s", n, &said)
	}
	for range 2 {
		l.close()
	}

	if _, err := l.Write([]byte("late\n")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after its end: %v", err)
	}
}

// early is a program that may not run yet, and what it is told.
type early struct {
	made bool
	runs chan struct{}
	told chan string
}

func (e early) unmade() bool { return !e.made }

func (e early) ready() <-chan struct{} { return e.runs }

func (e early) signal(_ context.Context, s Signal) error { e.told <- string(s); return nil }

func (e early) closeStdin(context.Context) error { e.told <- "no more input"; return nil }

func (e early) resize(context.Context, uint16, uint16) error { e.told <- "size"; return nil }

// TestListenEarly: what a client says waits until the program can hear of it. A signal ends what is not yet made.
func TestListenEarly(t *testing.T) {
	s := served(t)
	listened := func(e early) (ours net.Conn, gone chan struct{}) {
		ours, theirs := net.Pipe()
		gone = make(chan struct{})
		c := &client{conn: theirs, read: json.NewDecoder(theirs)}
		go s.listen(t.Context(), func() { close(gone) }, c, e)
		return ours, gone
	}

	for said, want := range map[string]string{`{"InputEnded":true}`: "no more input", `{"Signal":"interrupt"}`: "interrupt"} {
		e := early{true, make(chan struct{}), make(chan string, 1)}
		ours, gone := listened(e)
		if _, err := io.WriteString(ours, said); err != nil {
			t.Fatal(err)
		}

		select {
		case what := <-e.told:
			t.Errorf("it was told %q before it ran", what)
		case <-gone:
			t.Errorf("%s: what is being started is ended", said)
		case <-time.After(50 * time.Millisecond):
		}

		close(e.runs)
		if what := <-e.told; what != want {
			t.Errorf("it was told %q", what)
		}
		_ = ours.Close()
		<-gone
	}

	e := early{false, make(chan struct{}), make(chan string, 1)}
	ours, gone := listened(e)
	if _, err := io.WriteString(ours, `{"Signal":"interrupt"}`); err != nil {
		t.Fatal(err)
	}

	select {
	case <-gone:
	case <-time.After(20 * time.Second):
		t.Error("Ctrl-C does not end what is being made")
	}

	_ = ours.Close()
}
