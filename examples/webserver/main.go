// Command webserver is Mullion's sample: a small web server for a Windows container. Its page tells the Windows
// version, host name, user and addresses it sees, greets with the text of a file that is read anew for each request (a
// ConfigMap), and counts callers by address, as the PowerShell sample of the Kubernetes documentation does
// (https://kubernetes.io/docs/concepts/windows/user-guide/). It uses nothing but Go's library and golang.org/x/sys, and
// ends in order when Windows shuts the container down.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
)

// memoryLimit keeps Go's heap small; the process as a whole takes about twice that.
const memoryLimit = 16 << 20

func main() {
	var o options
	flag.StringVar(&o.listen, "listen", ":80", "address to listen on")
	flag.StringVar(&o.greeting, "greeting", `C:\config\greeting.txt`,
		"file with the greeting, read anew for each request")
	flag.DurationVar(&o.grace, "grace", 10*time.Second, "time for open requests to end at shutdown")
	flag.Parse()
	debug.SetMemoryLimit(memoryLimit)

	log := slog.New(slog.NewTextHandler(os.Stdout, nil))
	// Windows' CTRL_SHUTDOWN_EVENT and CTRL_CLOSE_EVENT arrive as SIGTERM (https://pkg.go.dev/os/signal#hdr-Windows).
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, log, o); err != nil {
		log.ErrorContext(ctx, "web server ended", "error", err)
		os.Exit(1)
	}
}

type options struct {
	listen, greeting string
	grace            time.Duration
}

// run serves until ctx ends, then lets open requests end.
func run(ctx context.Context, log *slog.Logger, o options) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listen on %q: %w", o.listen, err)
	}

	s := newServer(describe(), o.greeting)
	srv := &http.Server{
		Handler:           s.routes(),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
	}

	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	log.InfoContext(ctx, "serving", "address", l.Addr().String(), "windows", s.system.version, "host", s.system.host)
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}

	s.stopping.Store(true)
	log.InfoContext(ctx, "shutting down", "grace", o.grace)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.grace)
	defer cancel()
	if err := srv.Shutdown(grace); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("shut down: %w", err)
	}
	log.InfoContext(ctx, "bye")
	return nil
}
