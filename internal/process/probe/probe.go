// Package probe asks a program over HTTP whether it works. It does not know when to ask, nor what to do with the
// answer.
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
	// mostText is how much of an answer other than 200 is in the error.
	mostText = 2048
)

// Target is a page of a program.
type Target struct {
	URL string
	// Dial reaches the program, for example in a network namespace.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// CAFile holds the authority of the program's certificate, in PEM. It is used for https only.
	CAFile string
	// ServerName is the name in the certificate, "" for the one in URL.
	ServerName string
	// Timeout bounds a request in addition to the context; 0: only the context does.
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
	defer func() { _ = resp.Body.Close() }() // all that is needed has been read

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

// trust returns a TLS configuration that accepts only certificates of the authority in CAFile.
func (t Target) trust() (*tls.Config, error) {
	ca, err := os.ReadFile(t.CAFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("no certificate in the authority's file")
	}
	return &tls.Config{
		RootCAs:    roots,
		ServerName: t.ServerName,
		MinVersion: tls.VersionTLS12,
	}, nil
}
