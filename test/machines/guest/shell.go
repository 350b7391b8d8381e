package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
)

// Run runs a shell script as root in a login shell, and returns what it printed.
func (g *Guest) Run(ctx context.Context, script string) (string, error) {
	return g.RunAs(ctx, "root", script, nil)
}

// RunAs is Run for a user, "root" or "dev" (who may use sudo). also, unless nil, gets the output as it comes.
func (g *Guest) RunAs(ctx context.Context, user, script string, also io.Writer) (string, error) {
	c, err := g.login(ctx, user)
	if err != nil {
		return "", err
	}
	session, err := c.NewSession()
	if err != nil {
		g.forget(user, c)
		return "", errors.Join(fmt.Errorf("open a session: %w", err), c.Close())
	}

	defer session.Close()
	out := &buffer{also: also}
	session.Stdout, session.Stderr = out, out
	session.Stdin = strings.NewReader(script)
	// A login shell, with the user's locale and umask.
	if err := session.Start("bash -l -s"); err != nil {
		return "", err
	}

	done := make(chan error, 1)
	go func() { done <- session.Wait() }()
	select {
	case err = <-done:
	case <-ctx.Done():
		_ = session.Signal(ssh.SIGKILL) // the session's end is what counts
		err = ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("run %q: %w", abridge(script), err)
	}

	return out.String(), err
}

// Logout ends the systemd session in which a user's commands ran.
func (g *Guest) Logout(user string) {
	g.mu.Lock()
	c := g.conns[user]
	delete(g.conns, user)
	g.mu.Unlock()
	if c != nil {
		_ = c.Close() // it may be gone
	}
}

func abridge(script string) string {
	const most = 200
	if len(script) > most {
		return script[:most] + "…"
	}
	return script
}

// Dial connects to an address as a program on the guest would.
func (g *Guest) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := g.login(ctx, "root")
	if err != nil {
		return nil, err
	}
	return c.DialContext(ctx, network, address)
}

// buffer keeps what two goroutines write.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
	also io.Writer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.also != nil {
		if _, err := b.also.Write(p); err != nil {
			return 0, err
		}
	}
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
