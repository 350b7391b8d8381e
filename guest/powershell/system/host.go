package system

import (
	"context"
	"errors"
	"os"
	"time"

	"mullion.dev/mullion/guest/powershell/words"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
)

// hostTimeout bounds how long the host's agent has to take a request.
const hostTimeout = 30 * time.Second

// ask returns how a service of the host is asked for. A container has no pipe to ask by: absent returns the error for a
// request there, of which err says that there is none; nil: the answer is empty.
func ask[Q, A any](
	call hostcall.Call[Q, A], absent func(request Q, err error) error,
) func(context.Context, Q) (A, error) {
	return func(ctx context.Context, request Q) (answer A, err error) {
		dial, cancel := context.WithTimeout(ctx, hostTimeout)
		defer cancel()
		conn, err := dialPipe(dial, call.Name.Pipe())
		if errors.Is(err, os.ErrNotExist) {
			return answer, absent(request, err)
		}
		if err != nil {
			return answer, err
		}
		defer conn.Close()
		return call.Ask(conn, request)
	}
}

// onHost returns the error for each request in a container for what is the host's.
func onHost[Q any](text string) func(Q, error) error {
	return func(Q, error) error { return words.Errorf("%s", text) }
}

// noDisks returns the error for a request for disks in a container, which sees none.
func noDisks(request hostdisk.Request, err error) error {
	if request.Do == hostdisk.Get {
		return nil
	}
	return err
}
