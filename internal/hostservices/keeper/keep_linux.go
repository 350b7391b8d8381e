package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
)

// mostSaid bounds what a process says, in bytes.
const mostSaid = 1 << 20

// said is what a process says when it has been told what it is for: why it cannot, or what it has found.
type said[T any] struct {
	hostcall.Refusal
	Found T `json:"found,omitzero"`
}

// Keep starts a process, tells it what it keeps, and waits until it has connected to that, as long as within says. Then
// mount mounts what it serves by device. The error is a *hostcall.Refusal if the process cannot.
func (k Process) Keep(ctx context.Context, within time.Duration, what any, mount func(device *os.File) error) error {
	device, err := OpenDevice()
	if err != nil {
		return err
	}
	defer device.Close() // the process has it then; when that ends, who uses the file system gets errors

	k.Files = []*os.File{device}
	_, err = tell[struct{}](ctx, k, within, what, func() error { return mount(device) })
	return err
}

// Ask starts a process that finds something out, tells it what, and returns what it has found. The error is a
// *hostcall.Refusal if the process cannot.
func Ask[T any](ctx context.Context, k Process, within time.Duration, what any) (T, error) {
	return tell[T](ctx, k, within, what, func() error { return nil })
}

// tell tells a process what it is for, and that this is done, when it has answered. Else the process is ended.
func tell[T any](ctx context.Context, k Process, within time.Duration, what any, done func() error) (T, error) {
	var answer said[T]
	kept, input, output, err := k.Start(ctx)
	if err != nil {
		return answer.Found, fmt.Errorf("start %s: %w", k.Command, err)
	}
	defer output.Close()
	defer input.Close() // without a word it ends

	say := json.NewEncoder(input)
	if err = say.Encode(what); errors.Is(err, syscall.EPIPE) {
		err = nil // it has ended, and may have said why
	}
	err = errors.Join(err, output.SetReadDeadline(time.Now().Add(within)))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(output, mostSaid)).Decode(&answer)
	}
	switch {
	case err != nil:
		err = fmt.Errorf("hear of %s: %w", k.Name, err)
	case answer.Words != "":
		err = hostcall.Refusef(answer.Code, "%s", plaintext.OneLine(answer.Words))
	default:
		err = done()
	}
	if err == nil {
		err = say.Encode(true)
	}

	if err != nil {
		return answer.Found, errors.Join(err, ended(kept.Kill()))
	}
	return answer.Found, nil
}

// ended returns the error of ending a process, but that it had ended.
func ended(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// Told is the other side of Keep and of Ask, in the process: it settles, reads what it is for, which work does, and
// says what work has found. An error of work is said in the words of a *hostcall.Refusal. Told returns nil when who
// has asked is done.
func Told[T any](in io.Reader, out io.Writer, what any, work func() (T, error)) error {
	if err := Settle(); err != nil {
		return err
	}
	input := json.NewDecoder(in)
	if err := input.Decode(what); err != nil {
		return fmt.Errorf("read what to do: %w", err)
	}

	found, err := work()
	answer := said[T]{Found: found}
	if refusal, ok := errors.AsType[*hostcall.Refusal](err); ok {
		answer.Refusal = *refusal
	} else if err != nil {
		answer.Words = err.Error()
	}

	if err := errors.Join(err, json.NewEncoder(out).Encode(answer)); err != nil {
		return err
	}

	var done bool
	if err := input.Decode(&done); err != nil || !done {
		return fmt.Errorf("hear that what was found is used: %w", err)
	}
	return nil
}
