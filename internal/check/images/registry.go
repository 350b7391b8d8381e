package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	registry "github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"mullion.dev/mullion/internal/check"
)

// remoteImage is an image in a registry.
type remoteImage struct {
	puller     *remote.Puller // which logs in once
	repository name.Repository
}

func (f *Finder) remote(ref name.Reference) (*remoteImage, error) {
	p, err := remote.NewPuller(
		remote.WithAuthFromKeychain(f.options.Keychain),
		remote.WithTransport(&budget{RoundTripper: f.options.Transport}),
		remote.WithUserAgent("mullion-check"), remote.WithRetryBackoff(remote.Backoff{
			Duration: 200 * time.Millisecond,
			Factor:   2,
			Steps:    2,
		}),
	)
	return &remoteImage{p, ref.Context()}, err
}

func (r *remoteImage) platforms(ctx context.Context, ref name.Reference) ([]check.Platform, error) {
	d, err := r.puller.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	w := walker{from: r}
	err = w.manifest(ctx, d.Manifest, 0)
	return w.found, err
}

func (r *remoteImage) manifest(ctx context.Context, digest v1.Hash) ([]byte, error) {
	d, err := r.puller.Get(ctx, r.repository.Digest(digest.String())) // which compares it with the digest
	if err != nil {
		return nil, err
	}
	return d.Manifest, nil
}

func (r *remoteImage) config(ctx context.Context, digest v1.Hash) ([]byte, error) {
	l, err := r.puller.Layer(ctx, r.repository.Digest(digest.String()))
	if err != nil {
		return nil, err
	}
	body, err := l.Compressed()
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body) // bounded by the transport, compared with the digest by the library
}

// maxAnswer bounds one answer, in bytes. Registries take manifests of 4 MiB:
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pushing-manifests
const maxAnswer = 8 << 20

// transport returns a transport that gives up if a server does not answer.
func transport() http.RoundTripper {
	return &bounded{&http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout:   5 * time.Second,
		ResponseHeaderTimeout: 10 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   8,
	}}
}

// bounded ends answers that are too long.
type bounded struct{ http.RoundTripper }

func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &limited{ReadCloser: resp.Body, left: maxAnswer}
	return resp, nil
}

// maxRequests bounds the requests for one image, including logins, retries and redirects.
const maxRequests = 4*maxFetches + 20

// budget ends a lookup that takes too many requests: redirects may lead in a circle.
type budget struct {
	http.RoundTripper
	used atomic.Int32
}

func (b *budget) RoundTrip(req *http.Request) (*http.Response, error) {
	if b.used.Add(1) > maxRequests {
		return nil, &boundError{fmt.Sprintf("the image takes more than %d requests", maxRequests)}
	}
	return b.RoundTripper.RoundTrip(req)
}

type limited struct {
	io.ReadCloser
	left int
}

// boundError says that a registry's answer exceeds a bound.
type boundError struct{ text string }

func (e *boundError) Error() string { return e.text }

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, &boundError{fmt.Sprintf("the answer is longer than %d MiB", maxAnswer>>20)}
	}
	n, err := l.ReadCloser.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// explain turns an error of a registry into one for the user. About is the host if asking it again is of no use.
func explain(ref name.Reference, err error, late bool, timeout time.Duration) *check.LookupError {
	host := ref.Context().RegistryStr()
	const offline = "; `--offline` judges images by their names alone"
	answered, isAnswer := errors.AsType[*registry.Error](err)
	_, isNet := errors.AsType[net.Error](err)
	_, isBound := errors.AsType[*boundError](err)
	switch {
	case isAnswer && (answered.StatusCode == http.StatusUnauthorized || answered.StatusCode == http.StatusForbidden):
		return &check.LookupError{
			About: ref.Context().Name(),
			Err: fmt.Errorf(
				"registry %s does not show image %s without other credentials, or it has no such image (status %d)",
				host, ref, answered.StatusCode),
			Remedy: "log in (`docker login " + host + "`), or correct the name" + offline,
		}

	case isAnswer && answered.StatusCode == http.StatusNotFound:
		return &check.LookupError{
			About:  ref.Name(),
			Err:    fmt.Errorf("registry %s has no image %s", host, ref),
			Remedy: "correct the name or the tag" + offline,
		}

	case isAnswer && answered.StatusCode == http.StatusTooManyRequests:
		return &check.LookupError{
			About:  host,
			Err:    fmt.Errorf("registry %s refuses more requests for now (status %d)", host, answered.StatusCode),
			Remedy: "log in, or wait" + offline,
		}

	case late:
		return &check.LookupError{
			About:  host,
			Err:    fmt.Errorf("registry %s did not answer within %s", host, timeout),
			Remedy: "see whether it can be reached from here" + offline,
		}

	case isNet && !isBound:
		return &check.LookupError{
			About:  host,
			Err:    fmt.Errorf("registry %s does not answer: %w", host, err),
			Remedy: "see whether it can be reached from here" + offline,
		}
	}

	return &check.LookupError{
		About:  ref.Name(),
		Err:    fmt.Errorf("image %s: %w", ref, err),
		Remedy: "see what its registry holds: `docker buildx imagetools inspect " + ref.String() + "`" + offline,
	}
}
