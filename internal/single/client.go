package single

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/process/proc"
)

// Client asks the engine of a data folder, and starts it where none lives.
type Client struct {
	Paths Paths
	// Executable is this program, which is the engine's too.
	Executable string
	// Environ is the environment, of which the engine gets the proxies.
	Environ []string
	// Doing is told what takes long; it may be nil.
	Doing func(string)
}

// conn is a connection to the engine.
type conn struct {
	net.Conn
	read  *json.Decoder
	write *json.Encoder
}

// Load loads the images of an archive, and returns their references.
func (c *Client) Load(ctx context.Context, archive io.Reader) ([]string, error) {
	return c.LoadAs(ctx, archive, "")
}

// LoadAs is Load for an archive that may give its image no name.
func (c *Client) LoadAs(ctx context.Context, archive io.Reader, name string) ([]string, error) {
	if err := c.Paths.Prepare(); err != nil {
		return nil, err
	}
	f, err := c.newArchive(ctx)
	if err != nil {
		return nil, err
	}
	defer f.Close() // after its removal: its lock says that it is used
	defer os.Remove(f.Name())
	if _, err := io.Copy(f, archive); err != nil {
		return nil, err
	}

	e, err := c.answer(ctx, Request{Load: &Load{Archive: f.Name(), Name: name}})
	return e.Loaded, err
}

// HasImages reports whether an engine was ever started here, and so may have images.
func (c *Client) HasImages() bool {
	_, err := os.Stat(c.Paths.ContainerdRoot())
	return err == nil
}

// Save writes an image as an archive of an OCI layout. The error is errdefs.ErrNotFound if it is not here.
func (c *Client) Save(ctx context.Context, ref string, to io.Writer) error {
	if err := c.Paths.Prepare(); err != nil {
		return err
	}
	f, err := c.newArchive(ctx)
	if err != nil {
		return err
	}
	defer f.Close() // after its removal: its lock says that it is used
	defer os.Remove(f.Name())
	if _, err := c.answer(ctx, Request{Save: &Save{Image: ref, Archive: f.Name()}}); err != nil {
		return missing(err)
	}

	_, err = io.Copy(to, f)
	return err
}

// Tag gives an image another reference. The error is errdefs.ErrNotFound if it is not here.
func (c *Client) Tag(ctx context.Context, ref, name string) error {
	_, err := c.answer(ctx, Request{Tag: &Tag{Image: ref, Name: name}})
	return missing(err)
}

// missing makes errdefs.ErrNotFound of the engine's word for it.
func missing(err error) error {
	if r, ok := errors.AsType[*Refusal](err); ok && r.Code == CodeNotFound {
		return &notHereError{r.Message}
	}
	return err
}

// notHereError says that an image is not here, in the engine's words.
type notHereError struct{ words string }

func (e *notHereError) Error() string { return e.words }

// Unwrap classes the error.
func (e *notHereError) Unwrap() error { return errdefs.ErrNotFound }

// archives are the names of the archives of images, which the engine reads by their names.
const archives = "image-*.tar"

// newArchive makes a file for an archive, which has a lock as long as it is open.
func (c *Client) newArchive(ctx context.Context) (*os.File, error) {
	starting, err := hold(ctx, c.Paths.starting()) // nobody clears meanwhile
	if err != nil {
		return nil, err
	}
	defer starting.Close()
	f, err := os.CreateTemp(c.Paths.Data, archives)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %q: %w", f.Name(), err), os.Remove(f.Name()), f.Close())
	}
	return f, nil
}

// answer asks the engine for something that it answers once.
func (c *Client) answer(ctx context.Context, r Request) (Event, error) {
	var e Event
	err := again(ctx, func() (err error) {
		e, err = c.answerOnce(ctx, r)
		return err
	})
	return e, err
}

// again asks once more where the engine was about to end, being idle, or was killed, and takes requests until it is
// gone. A program that has begun has ended with its engine, and is not begun again.
func again(ctx context.Context, ask func() error) error {
	err := ask()
	for _, pause := range []time.Duration{0, 100 * time.Millisecond, 500 * time.Millisecond} {
		if !errors.Is(err, errGone) || errors.Is(err, errBegun) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		err = ask()
	}

	return err
}

func (c *Client) answerOnce(ctx context.Context, r Request) (Event, error) {
	to, err := c.ask(ctx, r)
	if err != nil {
		return Event{}, err
	}
	defer to.Close()
	defer context.AfterFunc(ctx, func() { _ = to.Close() })()

	begun := false
	for {
		e, err := to.next()
		switch {
		case ctx.Err() != nil:
			return e, context.Cause(ctx)
		case err != nil && begun:
			return e, fmt.Errorf("%w: %w", errBegun, err)
		case err != nil:
			return e, err
		case e.Refused != nil:
			return e, e.Refused
		case e.Begins:
			begun = true
		case e.Doing == "":
			return e, nil
		}

		c.doing(e.Doing)
	}
}

func (c *Client) doing(what string) {
	if what != "" && c.Doing != nil {
		c.Doing(what)
	}
}

// errGone is the error of an engine that has ended meanwhile.
var errGone = errors.New("the engine has ended")

// next returns what the engine says next.
func (c *conn) next() (Event, error) {
	var e Event
	if err := c.read.Decode(&e); err != nil {
		return e, fmt.Errorf("%w: %w", errGone, err)
	}
	return e, nil
}

// ask sends a request to the engine. One that is about to end takes no more requests: then another is started.
func (c *Client) ask(ctx context.Context, r Request) (*conn, error) {
	to, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	out := &conn{
		Conn:  to,
		read:  json.NewDecoder(to),
		write: json.NewEncoder(to),
	}
	if err := out.write.Encode(r); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: ask it: %w", errGone, err), to.Close())
	}
	return out, nil
}

// connect connects to the engine, which is started if there is none.
func (c *Client) connect(ctx context.Context) (net.Conn, error) {
	dial := unixsocket.Dialer(c.Paths.Engine())
	if to, err := dial(ctx, "", ""); err == nil {
		return to, nil
	}
	if err := c.Paths.Prepare(); err != nil {
		return nil, err
	}

	lock, err := hold(ctx, c.Paths.starting())
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if to, err := dial(ctx, "", ""); err == nil { // another client has started it
		return to, nil
	}

	return c.start(ctx, dial)
}

// start starts the engine and connects to it.
func (c *Client) start(ctx context.Context, dial func(context.Context, string, string) (net.Conn, error),
) (net.Conn, error) {
	if err := c.Paths.clearLeft(); err != nil {
		return nil, fmt.Errorf("clear what an earlier command left: %w", err)
	}
	log, err := os.OpenFile(c.Paths.Log(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()

	cmd := exec.Command(c.Executable, "--data-dir", c.Paths.Data, "run-engine") // it outlives this command
	cmd.Env = append(proxies(c.Environ), proc.MarkerVariable+"="+c.Paths.Data)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
	}

	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its log says why it ended
		close(ended)
	}()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()

	for {
		if to, err := dial(ctx, "", ""); err == nil {
			return to, nil
		}

		select {
		case <-ended:
			return nil, fmt.Errorf("start the engine: it ended: %s", c.lastWords())
		case <-ctx.Done():
			return nil, fmt.Errorf("start the engine: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// proxies returns the variables by which a program reaches registries.
func proxies(environ []string) []string {
	out := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		switch strings.ToLower(name) {
		case "http_proxy", "https_proxy", "no_proxy":
			out = append(out, e)
		}
	}
	return out
}

// mostWords is how much is shown of the engine's log, in bytes.
const mostWords = 2000

// lastWords returns the end of the engine's log.
func (c *Client) lastWords() string {
	f, err := os.Open(c.Paths.Log())
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		_, _ = f.Seek(max(0, info.Size()-mostWords), io.SeekStart) // else all of it is read
	}
	text, _ := io.ReadAll(io.LimitReader(f, mostWords)) // what was read is shown
	return strings.TrimSpace(string(text))
}
