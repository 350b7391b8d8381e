package bases

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// options returns how a registry is asked.
func (r Registry) options(ctx context.Context) []remote.Option {
	keychain := r.Keychain
	if keychain == nil {
		keychain = authn.DefaultKeychain
	}
	return []remote.Option{
		remote.WithContext(ctx),
		remote.WithAuthFromKeychain(keychain),
		remote.WithTransport(r.transport()),
		remote.WithUserAgent("mullion"),
		remote.WithRetryBackoff(remote.Backoff{
			Duration: 300 * time.Millisecond,
			Factor:   3,
			Steps:    3,
		}),
	}
}

// transport gives up if a server does not answer.
func (r Registry) transport() http.RoundTripper {
	if r.Transport != nil {
		return r.Transport
	}
	silence := r.Silence
	if silence == 0 {
		silence = 10 * time.Second
	}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: silence}).DialContext,
		TLSHandshakeTimeout:   silence,
		ResponseHeaderTimeout: silence,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   8,
	}
}

// unreachable reports whether an error says that nobody answers at a registry's address, or that there is none.
func unreachable(err error) bool {
	if _, answered := errors.AsType[*transport.Error](err); answered {
		return false
	}
	var timeout net.Error
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	return errors.As(err, &timeout) && timeout.Timeout()
}

// refusedBy says in a person's words why a registry has refused something, and what to do.
func refusedBy(err error) error {
	answer, ok := errors.AsType[*transport.Error](err)
	if !ok {
		return err
	}

	registry := ""
	if answer.Request != nil {
		registry = answer.Request.URL.Host
	}

	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("the registry %s does not let you (%d): log on by `docker login %s`, or write the credentials "+
			"to ~/.docker/config.json", registry, answer.StatusCode, registry)
	case http.StatusTooManyRequests:
		return fmt.Errorf("the registry %s has had too many requests (429): wait, or log on by `docker login %s`", registry,
			registry)
	case http.StatusNotFound:
		return fmt.Errorf("the registry %s does not have it (404)", registry)
	}

	text, _, _ := strings.Cut(answer.Error(), "\n")
	const most = 300
	return fmt.Errorf("the registry %s answers %d: %.*s", registry, answer.StatusCode, most, text)
}
