package single

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/base/unixsocket"
)

// fakeEngine returns a client, and the socket at which a test is its engine.
func fakeEngine(t *testing.T) (*Client, net.Listener) {
	t.Helper()
	c := &Client{Paths: At(t.TempDir(), "/nowhere")}
	t.Cleanup(func() { _ = os.RemoveAll(c.Paths.Run()) })
	if err := c.Paths.Prepare(); err != nil {
		t.Fatal(err)
	}

	l, err := unixsocket.Listen(t.Context(), c.Paths.Engine())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return c, l
}

// TestInputOfASecondEngine: a program has all of its input, also if the engine that was asked for it first is gone.
func TestInputOfASecondEngine(t *testing.T) {
	testrun.Once(t, testrun.Order)
	c, l := fakeEngine(t)

	read := make(chan string, 1)
	go func() {
		for lives := false; ; {
			to, err := l.Accept()
			if err != nil {
				return
			}
			var ask Request
			if json.NewDecoder(to).Decode(&ask) == nil && ask.Run != nil {
				if lives {
					read <- readInput(c.Paths.streams(ask.Run.Streams), json.NewEncoder(to))
				}
				<-time.After(100 * time.Millisecond) // a client that reads too early has done so by then
				lives = true
			}
			_ = to.Close()
		}
	}()

	input := struct{ io.Reader }{strings.NewReader("words")} // like a file, it is read before what was read is written
	streams := Streams{
		In:  input,
		Out: io.Discard,
		Err: io.Discard,
	}
	end, err := c.Run(t.Context(), Run{Stdin: true}, streams)
	if err != nil || end != (End{Code: 5}) {
		t.Errorf("%+v, %v", end, err)
	}
	if got := <-read; got != "words" {
		t.Errorf("the program reads %q", got)
	}
}

// readInput is an engine's program with those streams: it reads all of its input.
func readInput(folder string, say *json.Encoder) string {
	for _, name := range []string{"stdout", "stderr"} {
		f, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY, 0)
		if err != nil {
			return err.Error()
		}
		defer f.Close()
	}

	_ = say.Encode(Event{Begins: true})
	_ = say.Encode(Event{Started: "id"})
	f, err := os.Open(filepath.Join(folder, "stdin"))
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}

	_ = say.Encode(Event{Ended: &End{Code: 5}})
	return string(text)
}
