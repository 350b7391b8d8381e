package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"mullion.dev/mullion/internal/machines/discovery"
	"mullion.dev/mullion/internal/winserver"
	"mullion.dev/mullion/internal/winserver/preflight"
)

// common returns the facts that are gathered in the same way everywhere.
func common(ctx context.Context, a Asked, h winserver.Host) preflight.Facts {
	f := preflight.Facts{
		Name:    a.Name,
		Runtime: a.Runtime,
		Reach:   a.Server,
	}

	for _, port := range []int{10250, 10256} {
		l, err := net.Listen("tcp4", fmt.Sprintf("0.0.0.0:%d", port))
		if err != nil {
			f.Taken = append(f.Taken, port)
			continue
		}
		_ = l.Close() // it was only tried
	}

	f.Node, f.Left = h.Traces()
	if a.Server != "" {
		if err := answers(ctx, a.Server); err != nil {
			f.ReachError = err.Error()
		}
	}

	return f
}

// answers asks for cluster-info with a token that no cluster has. That the cluster does not know the token, or knows it
// with another secret, shows that it answers and that the clocks agree.
func answers(ctx context.Context, server string) error {
	_, err := discovery.Find(ctx, discovery.Config{
		Server: server, Token: discovery.Token{ID: "aaaaaa", Secret: "aaaaaaaaaaaaaaaa"}, Patience: time.Millisecond,
	})
	if errors.Is(err, discovery.ErrToken) || errors.Is(err, discovery.ErrSecret) {
		return nil
	}
	return err
}
