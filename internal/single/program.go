package single

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/engine"
)

// program is a Windows program in a container: the container's own, or another one that is run there.
type program struct {
	report string        // the file in which it says how it fares
	ended  chan struct{} // closed when Linux has said that it has ended, and how
	exit   engine.Exit
}

func newProgram(report string) program { return program{report: report, ended: make(chan struct{})} }

// hasEnded notes what Linux says of the program's end, or that it does not know.
func (p *program) hasEnded(exit engine.Exit, err error) {
	if err != nil {
		exit = engine.Exit{Code: engine.UnknownExit, At: time.Now()}
	}
	p.exit = exit
	close(p.ended)
}

// sigkilled is how Linux says that a process was killed: 128 and the signal's number.
const sigkilled = 128 + uint32(unix.SIGKILL)

// howEnded returns how a program has ended, by its own word unless it was killed.
func (p *program) howEnded() (End, error) {
	outcome, err := cri.ReadOutcome(p.report)
	if err == nil && outcome.Exited && p.exit.Code != sigkilled {
		return End{Code: outcome.Code}, nil
	}
	return End{Code: p.exit.Code, Killed: true}, err
}

// startTimeout is how long a program may take to start before it is believed to run: a loaded machine is slow.
const startTimeout = 20 * time.Second

// awaitStart waits until the program says how its start went, or has ended.
func (p *program) awaitStart(ctx context.Context) error {
	late := time.After(startTimeout)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()

	for over := false; ; {
		o, err := cri.ReadOutcome(p.report)
		switch {
		case err != nil:
			return err
		case o.Failed:
			return notStarted(o)
		case o.Started || o.Exited:
			return nil
		case over:
			return fmt.Errorf("start the program: it ended with %d before it ran", p.exit.Code)
		}

		select {
		case <-p.ended:
			over = true // it may have said something since
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return nil
		case <-tick.C:
		}
	}
}

// Windows' errors for a program that is not there
// (https://learn.microsoft.com/windows/win32/debug/system-error-codes--0-499-).
const (
	errorFileNotFound = 2
	errorPathNotFound = 3
)

// notStarted is why a program did not start, in Windows' words, with Docker's code for it.
func notStarted(o cri.Outcome) error {
	r := &Refusal{Code: CodeCannotStart, Message: fmt.Sprintf("start the program: %s (0x%x)",
		strings.TrimSpace(o.Message), o.Code)}
	if o.Code == errorFileNotFound || o.Code == errorPathNotFound {
		r.Code = CodeNotFound
		r.Remedy = "name a program that is in the container; `cmd /c dir /s /b C:\\` shows what is there"
	}
	return r
}

// controlled is a program that a client controls.
type controlled interface {
	// unmade reports whether nothing has been done to start it; ready is closed when it is started.
	unmade() bool
	ready() <-chan struct{}
	signal(ctx context.Context, signal Signal) error
	closeStdin(ctx context.Context) error
	resize(ctx context.Context, columns, rows uint16) error
}

// listen does what the client says of its program until it is gone; then gone is called. A signal ends what is
// not yet made; what is being started hears of it afterwards, and so of the rest.
func (s *service) listen(ctx context.Context, gone func(), c *client, to controlled) {
	defer gone()

	for {
		var said Control
		if err := c.read.Decode(&said); err != nil {
			return
		}
		if said.Signal != "" && to.unmade() {
			return
		}

		select {
		case <-to.ready():
		case <-ctx.Done():
			return
		}

		var err error
		switch {
		case said.Signal != "":
			err = to.signal(ctx, said.Signal)
		case said.InputEnded:
			err = to.closeStdin(ctx)
		case said.Columns > 0:
			err = to.resize(ctx, said.Columns, said.Rows)
		}
		if err != nil {
			s.options.Log.Debug("a program was not told what its client says", "error", err)
		}
	}
}
