// Package hostproxy owns through which HTTP proxy a Windows host pulls images: that of the machine's variables
// HTTP_PROXY, HTTPS_PROXY and NO_PROXY, which a person sets on the host, each of them else that of the agent's
// environment. On Windows the container runtime takes them in when it starts; here they hold for the next pull.
package hostproxy

import (
	"cmp"
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
	// Usual returns the proxy where the variable of a request's scheme names none; nil: that of this process's
	// environment.
	Usual func(*http.Request) (*url.URL, error)
	Log   *slog.Logger

	mu     sync.Mutex
	read   time.Time // the hive's time when it was read
	size   int64
	named  string // the proxy that was found, without users and passwords
	chosen chosen
}

// chosen is what a host's variables say.
type chosen struct {
	// proxy returns the proxy of a URL, nil for what is reached without one; nil: the variables say nothing.
	proxy func(*url.URL) (*url.URL, error)
	// schemes are those that the variables name a proxy for. Of others proxy says alone what is reached without one.
	schemes map[string]bool
}

// Of returns the proxy of a request, nil for none. It has the form of http.Transport's Proxy.
func (p *Proxy) Of(r *http.Request) (*url.URL, error) {
	now, err := p.now()
	if err != nil {
		return nil, err
	}
	if now.proxy != nil {
		proxy, err := now.proxy(r.URL)
		if err != nil || proxy == nil || now.schemes[r.URL.Scheme] {
			return proxy, err
		}
	}
	if p.Usual != nil {
		return p.Usual(r)
	}
	return http.ProxyFromEnvironment(r)
}

// now reads the variables again if the hive has changed. What they name must be a proxy: a node that is meant to use
// one does not try without it.
func (p *Proxy) now() (none chosen, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	at, err := os.Stat(p.Hive)
	if errors.Is(err, fs.ErrNotExist) { // no program has run on the host
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("look for the host's proxy: %w", err)
	}
	if at.ModTime().Equal(p.read) && at.Size() == p.size {
		return p.chosen, nil
	}

	variables, err := wine.MachineVariables(p.Hive, "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
	if err != nil {
		return none, err
	}
	found, err := spec.ProxyOnHost(variables["HTTP_PROXY"], variables["HTTPS_PROXY"], variables["NO_PROXY"])
	if err != nil {
		return none, fmt.Errorf("use the proxy of the host's variables HTTP_PROXY and HTTPS_PROXY: %w", err)
	}

	p.read, p.size = at.ModTime(), at.Size()
	p.choose(found, variables["NO_PROXY"])
	return p.chosen, nil
}

// choose takes a proxy, or none, and logs what is new.
func (p *Proxy) choose(found *spec.Proxy, noProxy string) {
	named := ""
	p.chosen = chosen{}
	if found != nil {
		named = found.String()
	} else {
		found = &spec.Proxy{}
	}
	if named != "" || noProxy != "" {
		const other = "other.invalid" // of a scheme that the variables name no proxy for
		config := httpproxy.Config{
			HTTPProxy:  cmp.Or(found.HTTPProxy, other),
			HTTPSProxy: cmp.Or(found.HTTPSProxy, other),
			NoProxy:    strings.Trim(noProxy+","+p.Direct, ","),
		}
		p.chosen = chosen{
			proxy:   config.ProxyFunc(),
			schemes: map[string]bool{"http": found.HTTPProxy != "", "https": found.HTTPSProxy != ""},
		}
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
