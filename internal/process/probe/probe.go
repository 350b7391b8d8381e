// Package probe owns the question to a program of ours, over HTTP, whether it works. It does not know when to ask, nor
// what to make of the answer.
package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

const (
	// mostBytes is how much of an answer is read, unless Target says otherwise.
	mostBytes = 4096
	// mostText is how much of an answer that is not 200 is told.
	mostText = 2048
)

// Target is a page of a program.
type Target struct {
	URL string
	// Dial reaches the program, for example in a network namespace.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// CAFile has the authority of the program's certificate, in PEM. It is for https alone.
	CAFile string
	// ServerName is the name in the certificate, "" for the one in URL.
	ServerName string
	// Timeout bounds the question besides the context; 0: the context alone does.
	Timeout time.Duration
	// MostBytes is how much of the answer is read, 4096 by default.
	MostBytes int64
}

// Get returns the page. An answer other than 200 is an error.
func (t Target) Get(ctx context.Context) ([]byte, error) {
	if t.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.Timeout)
		defer cancel()
	}
	body, err := t.get(ctx)
	if err != nil {
		return nil, fmt.Errorf("probe %s: %w", t.URL, err)
	}
	return body, nil
}

// Check is Get without the page.
func (t Target) Check(ctx context.Context) error {
	_, err := t.Get(ctx)
	return err
}

func (t Target) get(ctx context.Context) ([]byte, error) {
	transport := &http.Transport{DialContext: t.Dial, DisableKeepAlives: true}
	if t.CAFile != "" {
		var err error
		if transport.TLSClientConfig, err = t.trust(); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL, nil)
	if err != nil {
		return nil, err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // what was wanted of it has been read
	most := t.MostBytes
	if most == 0 {
		most = mostBytes
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %.*s", resp.Status, mostText, body)
	}
	return body, nil
}

// trust is the configuration that insists on a certificate of the authority.
func (t Target) trust() (*tls.Config, error) {
	ca, err := os.ReadFile(t.CAFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("no certificate in the authority's file")
	}
	return &tls.Config{RootCAs: roots, ServerName: t.ServerName, MinVersion: tls.VersionTLS12}, nil
}
