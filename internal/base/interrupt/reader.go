package interrupt

import (
	"context"
	"io"
)

// Reader reads what in has, such as standard input, and ends with ctx, also while it waits for more. What it took from
// in and nobody read is lost then.
func Reader(ctx context.Context, in io.Reader) io.Reader {
	out, to := io.Pipe()
	context.AfterFunc(ctx, func() { _ = to.CloseWithError(context.Cause(ctx)) }) // it never fails
	go func() {
		_, err := io.Copy(to, in)
		_ = to.CloseWithError(err) // the same; nil is the end
	}()
	return out
}
