package gmsa

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
)

// Webhook is the component that serves the webhook.
type Webhook struct {
	cfg    Config
	server *http.Server
	done   sync.WaitGroup
}

// New returns the component, not started.
func New(cfg Config) *Webhook { return &Webhook{cfg: cfg} }

// ID implements component.Component.
func (*Webhook) ID() component.ID { return component.Sole(Unit) }

// Start serves, and then tells the API server whom to ask.
func (w *Webhook) Start(ctx context.Context) error {
	client, err := w.cfg.Client()
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(w.cfg.CAFile)
	if err != nil {
		return fmt.Errorf("read authority: %w", err)
	}

	cert, err := tls.LoadX509KeyPair(w.cfg.CertFile, w.cfg.KeyFile)
	if err != nil {
		return fmt.Errorf("read certificate of the GMSA webhook: %w", err)
	}
	l, err := w.cfg.Listen()
	if err != nil {
		return fmt.Errorf("listen for the GMSA webhook: %w", err)
	}

	w.server = &http.Server{
		Handler:           admitter{api: cluster{client}, domains: w.cfg.Domains}.handler(),
		ReadHeaderTimeout: slowHeaders,
		ReadTimeout:       askTimeout,
		WriteTimeout:      2 * askTimeout,
		IdleTimeout:       time.Minute,
	}

	secured := tls.NewListener(l, &tls.Config{
		Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	})
	w.done.Go(func() { _ = w.server.Serve(secured) }) // until Stop
	for begin := time.Now(); ; {
		err := apply(ctx, client, version.MinorOf(w.cfg.Version), ca)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err(), w.Stop(context.WithoutCancel(ctx)))
		case <-time.After(proc.Pace(200*time.Millisecond, time.Since(begin))):
		}
	}
}

// Stop ends the server. The objects stay: they are the cluster's state, and pods with credential specs are refused
// until the webhook serves again.
func (w *Webhook) Stop(context.Context) error {
	if w.server != nil {
		_ = w.server.Close() // its listener and connections
		w.done.Wait()
	}
	return nil
}
