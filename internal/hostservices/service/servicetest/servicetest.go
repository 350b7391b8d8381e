// Package servicetest runs the services of a host for tests, and asks them.
package servicetest

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/hostservices/service"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
)

// Sockets returns the sockets of a service, in a folder of the test's.
func Sockets(dir string, name hostcall.Name) service.Sockets {
	return service.Sockets{
		Host:     filepath.Join(dir, string(name)+".sock"),
		Operator: filepath.Join(dir, string(name)+".operator.sock"),
	}
}

// Start starts services one after the other, which listen in a folder. They run until end is called.
func Start(tb testing.TB, dir string, services ...service.Service) (end func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	var waits []func()
	for _, s := range services {
		wait, err := s.Start(ctx, Sockets(dir, s.Name()))
		if err != nil {
			cancel()
			tb.Fatalf("start %s: %v", s.Name(), err)
		}
		waits = append(waits, wait)
	}

	return func() {
		cancel()
		for _, wait := range waits {
			wait()
		}
	}
}

// Ask asks a service at a socket. Without an answer the test ends. The refusal says nothing if the request was carried
// out.
func Ask[Q, A any](tb testing.TB, socket string, call hostcall.Call[Q, A], request Q) (A, hostcall.Refusal) {
	tb.Helper()
	conn, err := unixsocket.Dialer(socket)(context.WithoutCancel(tb.Context()), "", "")
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()

	answer, err := call.Ask(conn, request)
	if refusal, ok := errors.AsType[*hostcall.Refusal](err); ok {
		return answer, *refusal
	}
	if err != nil {
		tb.Fatal(err)
	}
	return answer, hostcall.Refusal{}
}
