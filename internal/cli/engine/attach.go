package engine

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/single"
)

// Console says which streams of this process a program has.
type Console struct{ Terminal, Stdin bool }

// Check refuses a terminal where there is none.
func (c Console) Check(env invoke.Env) error {
	if c.Terminal && c.Stdin && env.Raw == nil {
		return Failed(errors.New("give the program a console: standard input is no terminal"),
			"leave -t out, and pipe with -i alone")
	}
	return nil
}

// Attach runs a program with this process's streams, terminal and signals. outer is the context that a signal ends, ctx
// one that no signal ends. run asks for it, with the size of its console.
func (c Console) Attach(ctx, outer context.Context, env invoke.Env,
	run func(ctx context.Context, streams single.Streams, columns, rows uint16) (single.End, error),
) (single.End, error) {
	defer interrupt.Finishing(outer)() // a signal is the program's, which may take its time
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	controls := make(chan single.Control)
	streams := single.Streams{
		Out:      env.Out,
		Err:      env.Err,
		Controls: controls,
	}

	if c.Stdin {
		streams.In = env.In
	}

	columns, rows := 0, 0
	if c.Terminal && env.Size != nil {
		columns, rows = env.Size()
	}

	if c.Terminal && c.Stdin {
		restore, err := env.Raw()
		if err != nil {
			return single.End{}, fmt.Errorf("set the terminal to pass on every key: %w", err)
		}
		defer restore()
	}

	say := func(what single.Control) {
		select {
		case controls <- what:
		case <-ctx.Done():
		}
	}

	go passSignals(ctx, outer, say)
	if c.Terminal && env.Resized != nil {
		go passSizes(ctx, env, say)
	}
	return run(ctx, streams, uint16(columns), uint16(rows))
}

// Ended ends this command as a program has ended that ran.
func Ended(env invoke.Env, end single.End) error {
	if why := end.Why(); why != "" {
		fmt.Fprintf(env.Err, "mullion: %s\n", why)
	}
	if code := end.ExitCode(); code != 0 {
		return exit.Silent(code)
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

// signalOf returns what Windows has for the signal that ended a context.
func signalOf(outer context.Context) single.Signal {
	if cause, ok := errors.AsType[*interrupt.Cause](context.Cause(outer)); ok && cause.Signal == syscall.SIGTERM {
		return single.Stop
	}
	return single.Interrupt
}

// passSizes passes on the terminal's size each time that it changes.
func passSizes(ctx context.Context, env invoke.Env, say func(single.Control)) {
	changed := env.Resized(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			columns, rows := env.Size()
			say(single.Control{Columns: uint16(columns), Rows: uint16(rows)})
		}
	}
}
