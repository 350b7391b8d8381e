// Package images finds out for which platforms an image is: it asks the image's registry, as a kubelet would, or reads
// OCI layouts and archives of images. Their answers may be hostile: sizes, depth, number and time are bounded, and
// every content is compared with its digest. It fetches manifests and configurations, never a layer.
package images

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"mullion.dev/mullion/internal/check"
)

// Options say where images are looked up.
type Options struct {
	// Layouts are folders or tar archives of images: OCI image layouts, and what `docker save` writes. They come before
	// registries.
	Layouts []string
	// Offline asks no registry.
	Offline bool
	// Timeout is how long one image may take; 0 is DefaultTimeout.
	Timeout time.Duration
	// Keychain has the credentials; nil: those of the Docker or Podman configuration of the user.
	Keychain authn.Keychain
	// Transport carries requests; nil: one with bounded waits.
	Transport http.RoundTripper
}

// DefaultTimeout is how long one image may take.
const DefaultTimeout = 15 * time.Second

// Finder finds the platforms of images. Each image is looked up once. It may be used by several goroutines.
type Finder struct {
	options Options
	local   map[string][]check.Platform // by full reference

	mu    sync.Mutex
	known map[string]*answer
	dead  map[string]error // registries that do not answer, by host
}

type answer struct {
	done      chan struct{}
	platforms []check.Platform
	err       error
}

// New reads the layouts. An error is about one of these.
func New(ctx context.Context, o Options) (*Finder, error) {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Keychain == nil {
		o.Keychain = authn.DefaultKeychain
	}
	if o.Transport == nil {
		o.Transport = transport()
	}

	f := &Finder{
		options: o,
		local:   map[string][]check.Platform{},
		known:   map[string]*answer{},
		dead:    map[string]error{},
	}

	for _, path := range o.Layouts {
		if err := f.readLayout(ctx, path); err != nil {
			return nil, fmt.Errorf("read images of %q: %w", path, err)
		}
	}

	return f, nil
}

// loaded is the registry in the names of images that `mullion image` builds or loads, as those of Mullion's examples.
// There is no such registry.
const loaded = "mullion.local"

// Platforms returns the platforms of an image; none, without an error, if nothing is known of it. The error is a
// *check.LookupError.
func (f *Finder) Platforms(ctx context.Context, image string) ([]check.Platform, error) {
	ref, err := name.ParseReference(image)
	if err != nil {
		return nil, &check.LookupError{
			About:  image,
			Err:    err,
			Remedy: "write [REGISTRY/]NAME[:TAG][@DIGEST], in lower case",
		}
	}

	full := ref.Name()
	if ps, ok := f.local[full]; ok {
		return ps, nil
	}
	if f.options.Offline || ref.Context().RegistryStr() == loaded {
		return nil, nil
	}

	f.mu.Lock()
	a, asked := f.known[full]
	if !asked {
		a = &answer{done: make(chan struct{})}
		f.known[full] = a
	}

	f.mu.Unlock()
	if !asked {
		a.platforms, a.err = f.ask(ctx, ref)
		close(a.done)
	}

	select {
	case <-a.done:
		return a.platforms, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ask asks the registry. A registry that did not answer is not asked again, so that it costs the waiting time only
// once.
func (f *Finder) ask(ctx context.Context, ref name.Reference) ([]check.Platform, error) {
	host := ref.Context().RegistryStr()
	f.mu.Lock()
	err := f.dead[host]
	f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, f.options.Timeout)
	defer cancel()

	var ps []check.Platform
	r, err := f.remote(ref)
	if err == nil {
		ps, err = r.platforms(within, ref)
	}
	if err == nil || ctx.Err() != nil {
		return ps, errors.Join(err, ctx.Err())
	}

	lookup := explain(ref, err, within.Err() != nil, f.options.Timeout)
	if lookup.About == host {
		f.mu.Lock()
		f.dead[host] = lookup
		f.mu.Unlock()
	}

	return nil, lookup
}
