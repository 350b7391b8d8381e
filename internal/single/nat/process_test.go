package nat

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/single/nat/wire"
)

// TestAskNoAnswer holds that a process that does not answer is killed, since its next answer would be to another
// request, and that one is left alone to which nothing was sent.
func TestAskNoAnswer(t *testing.T) {
	conn, other, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p := &process{
		conn:  conn,
		cmd:   exec.Command("sleep", "60"),
		ended: make(chan struct{}),
	}

	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}

	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	defer func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	}()

	err = p.ask(wire.Request{Attach: &wire.Attach{Names: []string{strings.Repeat("x", 1<<17)}}}, nil)
	if !errors.Is(err, wire.ErrTooLong) || !p.runs() {
		t.Errorf("a request that is too long: %v; the process runs: %t", err, p.runs())
	}
	if err := other.Close(); err != nil { // as one that has no answer, at once
		t.Fatal(err)
	}

	if err := p.ask(wire.Request{Detach: "a"}, nil); err == nil {
		t.Error("a request without an answer was carried out")
	}
	if p.runs() {
		t.Error("the process runs on")
	}
}
