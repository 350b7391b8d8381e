package curl

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// connectTimeout is how long curl tries to connect if it is not told.
const connectTimeout = 5 * time.Minute

func (t *transfers) newClient() (*http.Client, error) {
	trust, err := t.trust()
	if err != nil {
		return nil, err
	}
	proxy, err := t.proxies()
	if err != nil {
		return nil, err
	}

	limit := connectTimeout
	if t.connect > 0 {
		limit = t.connect
	}
	dialer := &net.Dialer{Timeout: limit}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				c, err := t.dial(ctx, dialer, network, address)
				if err != nil {
					return nil, err
				}
				return &asking{Conn: c, asked: make(chan struct{})}, nil
			},
			Proxy:               proxy,
			TLSClientConfig:     trust,
			TLSHandshakeTimeout: limit,
			DisableCompression:  true,
		},
		// curl follows by its own rules.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// dial connects to where --resolve, --unix-socket, -4 and -6 lead.
func (t *transfers) dial(ctx context.Context, dialer *net.Dialer, network, address string) (net.Conn, error) {
	if t.socket != "" {
		return dialer.DialContext(ctx, "unix", t.socket)
	}
	if t.family != "" {
		network = t.family
	}

	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}

	for _, entry := range t.resolve {
		parts := strings.SplitN(strings.TrimPrefix(entry, "+"), ":", 3)
		if len(parts) != 3 || parts[1] != port || (parts[0] != "*" && !strings.EqualFold(parts[0], host)) {
			continue
		}
		first, _, _ := strings.Cut(parts[2], ",")
		address = net.JoinHostPort(strings.Trim(first, "[]"), port)
	}

	return dialer.DialContext(ctx, network, address)
}

// asking is a connection that is not read before something was written to it: what a server says before it was asked is
// an answer too, as it is for curl, while net/http ends a connection on which it reads one.
type asking struct {
	net.Conn

	once  sync.Once
	asked chan struct{}
}

func (a *asking) Read(b []byte) (int, error) {
	<-a.asked
	return a.Conn.Read(b)
}

func (a *asking) Write(b []byte) (int, error) {
	defer a.once.Do(func() { close(a.asked) })
	return a.Conn.Write(b)
}

func (a *asking) Close() error {
	a.once.Do(func() { close(a.asked) })
	return a.Conn.Close()
}

// trust is whom curl believes, and what it shows of itself.
func (t *transfers) trust() (*tls.Config, error) {
	c := &tls.Config{InsecureSkipVerify: t.insecure, MinVersion: tls.VersionTLS12}
	if t.authority != "" {
		pem, err := os.ReadFile(t.authority)
		pool := x509.NewCertPool()
		if err != nil || !pool.AppendCertsFromPEM(pem) {
			return nil, troubled(exitAuthority, "schannel: failed to open CA file '%s'", t.authority)
		}
		c.RootCAs = pool
	}

	if t.certificate != "" {
		key := t.key
		if key == "" {
			key = t.certificate
		}
		pair, err := tls.LoadX509KeyPair(t.certificate, key)
		if err != nil {
			return nil, troubled(exitCert, "schannel: Failed to import cert file %s: %v", t.certificate, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}

	return c, nil
}

// proxies chooses the proxy of a request: that of -x, or of the environment, but for the hosts that are to have none.
func (t *transfers) proxies() (func(*http.Request) (*url.URL, error), error) {
	without := t.noProxy
	if without == "" {
		without = first(t.getenv, "no_proxy", "NO_PROXY")
	}

	var given *url.URL
	if t.proxy != "" {
		u, err := parseProxy(t.proxy)
		if err != nil {
			return nil, err
		}
		given = u
	}

	return func(r *http.Request) (*url.URL, error) {
		if spared(without, r.URL.Hostname()) || t.socket != "" {
			return nil, nil
		}
		if given != nil {
			return given, nil
		}

		// curl does not take HTTP_PROXY in capitals, which a CGI program's caller could set.
		names := []string{"http_proxy"}
		if r.URL.Scheme == "https" {
			names = []string{"https_proxy", "HTTPS_PROXY"}
		}
		address := first(t.getenv, append(names, "all_proxy", "ALL_PROXY")...)
		if address == "" {
			return nil, nil
		}

		return parseProxy(address)
	}, nil
}

func first(getenv func(string) string, names ...string) string {
	i := slices.IndexFunc(names, func(name string) bool { return getenv(name) != "" })
	if i < 0 {
		return ""
	}
	return getenv(names[i])
}

func parseProxy(address string) (*url.URL, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return nil, troubled(5, "Unsupported proxy syntax in '%s'", address)
	}
	return u, nil
}

// spared reports whether a host is in a list of hosts that are to have no proxy.
func spared(list, host string) bool {
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimPrefix(strings.TrimSpace(name), ".")
		if name == "*" || (name != "" && (strings.EqualFold(name, host) ||
			strings.HasSuffix(strings.ToLower(host), "."+strings.ToLower(name)))) {
			return true
		}
	}
	return false
}
