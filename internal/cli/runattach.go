package cli

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/single"
)

// console says which streams of this process a program has.
type console struct{ terminal, stdin bool }

// check refuses a terminal where there is none.
func (c console) check(a *app) error {
	if c.terminal && c.stdin && a.env.Raw == nil {
		return failedRun(errors.New("give the program a console: standard input is no terminal"),
			"leave -t out, and pipe with -i alone")
	}
	return nil
}

// attach runs a program with this process's streams, terminal and signals. outer is the context that a signal ends, ctx
// one that no signal ends. run asks for it, with the size of its console.
func (a *app) attach(ctx, outer context.Context, console console,
	run func(ctx context.Context, streams single.Streams, columns, rows uint16) (single.End, error),
) (single.End, error) {
	defer interrupt.Finishing(outer)() // a signal is the program's, which may take its time
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	controls := make(chan single.Control)
	streams := single.Streams{Out: a.env.Out, Err: a.env.Err, Controls: controls}
	if console.stdin {
		streams.In = a.env.In
	}
	columns, rows := 0, 0
	if console.terminal && a.env.Size != nil {
		columns, rows = a.env.Size()
	}
	if console.terminal && console.stdin {
		restore, err := a.env.Raw()
		if err != nil {
			return single.End{}, fmt.Errorf("set the terminal to pass on every key: %w", err)
		}
		defer restore()
	}
	say := func(c single.Control) {
		select {
		case controls <- c:
		case <-ctx.Done():
		}
	}
	go passSignals(ctx, outer, say)
	if console.terminal && a.env.Resized != nil {
		go a.passSizes(ctx, say)
	}
	return run(ctx, streams, uint16(columns), uint16(rows))
}

// ended ends this command as a program has ended that ran.
func (a *app) ended(end single.End) error {
	if why := end.Why(); why != "" {
		fmt.Fprintf(a.env.Err, "mullion: %s\n", why)
	}
	if code := end.ExitCode(); code != 0 {
		return &silentError{code}
	}
	return nil
}

// passSignals passes on the first signal as Windows has it. A second one kills.
func passSignals(ctx, outer context.Context, say func(single.Control)) {
	select {
	case <-ctx.Done():
		return
	case <-outer.Done():
	}
	second := interrupt.Next(outer)
	say(single.Control{Signal: signalOf(outer)})
	select {
	case <-ctx.Done():
	case <-second:
		say(single.Control{Signal: single.Kill})
	}
}

// signalOf is what Windows has for the signal that ended a context.
func signalOf(outer context.Context) single.Signal {
	if cause, ok := errors.AsType[*interrupt.Cause](context.Cause(outer)); ok && cause.Signal == syscall.SIGTERM {
		return single.Stop
	}
	return single.Interrupt
}

// passSizes passes on the terminal's size each time that it changes.
func (a *app) passSizes(ctx context.Context, say func(single.Control)) {
	changed := a.env.Resized(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			columns, rows := a.env.Size()
			say(single.Control{Columns: uint16(columns), Rows: uint16(rows)})
		}
	}
}
