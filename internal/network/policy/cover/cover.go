// Package cover is how whoever gives a pod its address has the pod's NetworkPolicies carried out before the pod's
// programs start: a request on a Unix socket of the pod's node, which is answered when the node's table has the pod's
// address. It does not know what policies say (package enforcer does).
package cover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"mullion.dev/mullion/internal/base/unixsocket"
)

// Pod is a pod that was given addresses, as the kubelet names it to the container runtime.
type Pod struct {
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	UID       string       `json:"uid"`
	Addresses []netip.Addr `json:"addresses"`
}

// answer is what the other side says; Error is empty when the pod's policies are carried out.
type answer struct {
	Error string `json:"error,omitempty"`
}

const (
	// patience is how long Ask waits: for a server that is being started again, and for its answer.
	patience = 15 * time.Second
	// retryEvery is the time between two tries to reach the server.
	retryEvery = 100 * time.Millisecond
	// handleTime bounds the work on one request, and largest its size in bytes.
	handleTime = 10 * time.Second
	largest    = 1 << 16
)

// Ask returns when the pod's policies are carried out. Anything else is an error, and then the pod must not start.
func Ask(ctx context.Context, socket string, pod Pod) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := ask(ctx, socket, pod)
	if err != nil {
		return fmt.Errorf("carry out the network policies of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

func ask(ctx context.Context, socket string, pod Pod) error {
	conn, err := dial(ctx, socket)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // everything has been read

	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if err := json.NewEncoder(conn).Encode(pod); err != nil {
		return err
	}

	var a answer
	if err := json.NewDecoder(io.LimitReader(conn, largest)).Decode(&a); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if a.Error != "" {
		return errors.New(a.Error)
	}

	return nil
}

func dial(ctx context.Context, socket string) (net.Conn, error) {
	for {
		conn, err := unixsocket.Dialer(socket)(ctx, "", "")
		if err == nil {
			return conn, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(retryEvery):
		}
	}
}

// Serve answers on the socket until ctx ends; cover carries out the policies of one pod, and is called from several
// goroutines.
func Serve(ctx context.Context, socket string, cover func(context.Context, Pod) error, log *slog.Logger) error {
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		return err
	}
	l, err := unixsocket.Listen(ctx, socket)
	if err != nil {
		return err
	}

	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var busy sync.WaitGroup
	defer busy.Wait()

	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil // that is how it ends
			}
			return err
		}

		busy.Go(func() {
			if err := handle(ctx, conn, cover); err != nil && ctx.Err() == nil {
				log.Error("answer about a pod's network policies", "error", err)
			}
		})
	}
}

func handle(ctx context.Context, conn net.Conn, cover func(context.Context, Pod) error) error {
	defer func() { _ = conn.Close() }() // the answer was written, or nobody waits for it
	ctx, cancel := context.WithTimeout(ctx, handleTime)
	defer cancel()
	if err := conn.SetDeadline(time.Now().Add(handleTime)); err != nil {
		return err
	}

	var pod Pod
	if err := json.NewDecoder(io.LimitReader(conn, largest)).Decode(&pod); err != nil {
		return fmt.Errorf("read a request: %w", err)
	}
	var a answer
	if err := cover(ctx, pod); err != nil {
		a.Error = err.Error()
	}

	return json.NewEncoder(conn).Encode(a)
}
