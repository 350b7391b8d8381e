package wire

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// TestConn sends messages with a file and without one, and what is no message.
func TestConn(t *testing.T) {
	engine, file, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}

	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	defer gateway.Close()

	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := engine.Send(Request{Attach: &Attach{ID: "one", Names: []string{"a"}}}, w); err != nil {
		t.Fatal(err)
	}

	var got Request
	sent, err := gateway.Receive(&got)
	if err != nil || sent == nil || got.Attach == nil || got.Attach.ID != "one" {
		t.Fatalf("%+v, %v, %v", got, sent, err)
	}
	if err := errors.Join(w.Close(), sent.Close()); err != nil {
		t.Fatal(err)
	}

	if text, err := io.ReadAll(r); err != nil || len(text) > 0 { // it was the same pipe, and its last writer
		t.Errorf("%q, %v", text, err)
	}

	if err := gateway.Send(Answer{Error: "no"}, nil); err != nil {
		t.Fatal(err)
	}
	var a Answer
	if sent, err := engine.Receive(&a); err != nil || sent != nil || a.Error != "no" {
		t.Errorf("%+v, %v, %v", a, sent, err)
	}

	if err := engine.Send(Request{Detach: strings.Repeat("x", largest)}, nil); err == nil {
		t.Error("a message that is too long was sent")
	}
	if err := engine.SetDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Receive(&a); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}

	if err := engine.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := gateway.Receive(&got); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}

	if null, err := os.Open(os.DevNull); err == nil {
		defer null.Close()
		if _, err := Open(null); err == nil {
			t.Error("a file that is no socket was opened")
		}
	}
}
