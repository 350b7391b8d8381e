// Package hostproxy owns through which HTTP proxy a Windows host pulls images: that of the machine's variables
// HTTP_PROXY, HTTPS_PROXY and NO_PROXY, which a person sets on the host, else that of the agent's environment. On
// Windows the container runtime takes them in when it starts; here they hold for the next pull.
package hostproxy

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"

	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wine"
)

// Proxy knows a host's proxy. Its fields do not change once Of is called.
type Proxy struct {
	// Hive is the host's wine.MachineHive.
	Hive string
	// Direct is what is reached without the proxy of the variables, beside what NO_PROXY says, in the form of NO_PROXY.
	Direct string
	// Usual returns the proxy where the variables name none; nil: that of this process's environment.
	Usual func(*http.Request) (*url.URL, error)
	Log   *slog.Logger

	mu     sync.Mutex
	read   time.Time // the hive's time when it was read
	size   int64
	named  string // the proxy that was found, without users and passwords
	chosen func(*url.URL) (*url.URL, error)
}

// Of returns the proxy of a request, nil for none. It has the form of http.Transport's Proxy.
func (p *Proxy) Of(r *http.Request) (*url.URL, error) {
	chosen, err := p.now()
	switch {
	case err != nil:
		return nil, err
	case chosen != nil:
		return chosen(r.URL)
	case p.Usual != nil:
		return p.Usual(r)
	}

	return http.ProxyFromEnvironment(r)
}

// now reads the variables again if the hive has changed. It returns nil if they name no proxy. What they name must be
// one: a node that is meant to use a proxy does not try without it.
func (p *Proxy) now() (func(*url.URL) (*url.URL, error), error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	at, err := os.Stat(p.Hive)
	if errors.Is(err, fs.ErrNotExist) { // no program has run on the host
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	if err != nil {
		return nil, fmt.Errorf("look for the host's proxy: %w", err)
	}
	if at.ModTime().Equal(p.read) && at.Size() == p.size {
		return p.chosen, nil
	}

	variables, err := wine.MachineVariables(p.Hive, "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
	if err != nil {
		return nil, err
	}
	found, err := spec.ProxyOnHost(variables["HTTP_PROXY"], variables["HTTPS_PROXY"], variables["NO_PROXY"])
	if err != nil {
		return nil, fmt.Errorf("use the proxy of the host's variables HTTP_PROXY and HTTPS_PROXY: %w", err)
	}

	p.read, p.size = at.ModTime(), at.Size()
	p.choose(found)
	return p.chosen, nil
}

// choose takes a proxy, or none, and logs what is new.
func (p *Proxy) choose(found *spec.Proxy) {
	named := ""
	p.chosen = nil
	if found != nil {
		named = found.String()
		config := httpproxy.Config{
			HTTPProxy:  found.HTTPProxy,
			HTTPSProxy: found.HTTPSProxy,
			NoProxy:    strings.Trim(found.NoProxy+","+p.Direct, ","),
		}
		p.chosen = config.ProxyFunc()
	}
	if named == p.named {
		return
	}

	p.named = named
	if named == "" {
		p.Log.Info("the host's variables name no proxy for images any more")
		return
	}
	p.Log.Info("images are pulled through the proxy of the host's variables", "proxy", named)
}
