package spec

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Proxy is the HTTP proxy through which nodes pull images. The fields are what the variables HTTP_PROXY, HTTPS_PROXY
// and NO_PROXY hold elsewhere (https://pkg.go.dev/golang.org/x/net/http/httpproxy).
type Proxy struct {
	// HTTPProxy and HTTPSProxy are the proxies for http:// and https://: a URL, http://user:password@host:port.
	HTTPProxy  string `yaml:"httpProxy,omitempty" json:"httpProxy,omitempty"`
	HTTPSProxy string `yaml:"httpsProxy,omitempty" json:"httpsProxy,omitempty"`
	// NoProxy names what nodes reach without it, with commas: hosts, domains (.example.com), addresses, subnets. The
	// cluster's own subnets and names need not be in it.
	NoProxy string `yaml:"noProxy,omitempty" json:"noProxy,omitempty"`
}

// ProxyFrom returns the proxy of a process's environment (NAME=value), nil if it has none. Names in lower case count
// too. It is an error if nodes cannot use the proxy.
func ProxyFrom(environ []string) (*Proxy, error) {
	get := func(name string) string {
		var upper, low string
		for _, e := range environ {
			if v, ok := strings.CutPrefix(e, name+"="); ok {
				upper = v
			}
			if v, ok := strings.CutPrefix(e, strings.ToLower(name)+"="); ok {
				low = v
			}
		}

		return cmp.Or(upper, low)
	}

	p := &Proxy{
		HTTPProxy:  get("HTTP_PROXY"),
		HTTPSProxy: get("HTTPS_PROXY"),
		NoProxy:    get("NO_PROXY"),
	}
	if p.HTTPProxy == "" && p.HTTPSProxy == "" {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}

	for _, s := range []string{p.HTTPProxy, p.HTTPSProxy} {
		if _, err := proxyURL(s); err != nil {
			return nil, err
		}
	}

	return p, nil
}

// WithoutProxy returns an environment without the variables of a proxy, for programs that speak with the cluster only.
func WithoutProxy(environ []string) []string {
	var left []string
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		if !slices.Contains([]string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"}, strings.ToUpper(name)) {
			left = append(left, e)
		}
	}
	return left
}

// ProxyOnHost returns the proxy that a host's own variables name, nil if they name none. It may be on the host's
// loopback address. It is an error if the host cannot use it.
func ProxyOnHost(httpProxy, httpsProxy, noProxy string) (*Proxy, error) {
	if httpProxy == "" && httpsProxy == "" {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	for _, s := range []string{httpProxy, httpsProxy} {
		if _, err := parseProxy(s); err != nil {
			return nil, err
		}
	}

	return &Proxy{
		HTTPProxy:  httpProxy,
		HTTPSProxy: httpsProxy,
		NoProxy:    noProxy,
	}, nil
}

// proxyURL reads the address of a proxy that several nodes have to reach, nil for "".
func proxyURL(s string) (*url.URL, error) {
	u, err := parseProxy(s)
	if err == nil && u != nil && loopback(u.Hostname()) {
		err = fmt.Errorf("%s is each node's own loopback address: name the proxy by an address that nodes reach", u.Hostname())
	}
	if err != nil {
		return nil, err
	}
	return u, nil
}

// parseProxy reads the address of a proxy, nil for "". Without a scheme it is one of HTTP.
func parseProxy(s string) (*url.URL, error) {
	if s == "" {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}

	u, err := url.Parse(s)
	switch {
	case err != nil: // its text has the URL, which may have a password
		return nil, errors.New("it is not a URL")
	case !slices.Contains([]string{"http", "https", "socks5"}, u.Scheme):
		return nil, fmt.Errorf("%q is none of http, https, socks5", u.Scheme)
	case u.Hostname() == "":
		return nil, errors.New("it names no host")
	}

	return u, nil
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || (err == nil && addr.IsLoopback())
}

// WithoutUsers returns the proxy without users and passwords, to be shown.
func (p Proxy) WithoutUsers() Proxy {
	for _, s := range []*string{&p.HTTPProxy, &p.HTTPSProxy} {
		if u, err := parseProxy(*s); err != nil {
			*s = ""
		} else if u != nil {
			*s = u.Scheme + "://" + u.Host
		}
	}
	return p
}

// String returns where images go through, without passwords.
func (p Proxy) String() string {
	p = p.WithoutUsers()
	all := slices.DeleteFunc([]string{p.HTTPSProxy, p.HTTPProxy}, func(s string) bool { return s == "" })
	return strings.Join(slices.Compact(all), " and ")
}

// PullEnviron returns the variables (NAME=value) by which a node's container runtime finds the proxy, none without one.
// The cluster's own subnets and names are reached directly.
func (c Cluster) PullEnviron() []string {
	if c.Proxy == nil || (c.Proxy.HTTPProxy == "" && c.Proxy.HTTPSProxy == "") {
		return nil
	}

	all := []string{"NO_PROXY=" + c.PullDirect()}
	for name, v := range map[string]string{"HTTP_PROXY": c.Proxy.HTTPProxy, "HTTPS_PROXY": c.Proxy.HTTPSProxy} {
		if v != "" {
			all = append(all, name+"="+v)
		}
	}

	slices.Sort(all)
	return all
}

// PullDirect returns what a node's container runtime reaches without a proxy, whoever names one, in the form of
// NO_PROXY: the cluster's own subnets and names, and what its description adds.
func (c Cluster) PullDirect() string {
	n := c.Networking
	direct := []string{
		"localhost", "127.0.0.0/8", "::1", ".svc", "." + c.Domain(), n.UnderlaySubnet, n.PodSubnet, n.ServiceSubnet,
	}
	if c.Proxy != nil && c.Proxy.NoProxy != "" {
		direct = append([]string{c.Proxy.NoProxy}, direct...)
	}
	return strings.ReplaceAll(strings.Join(direct, ","), " ", "")
}

// proxy checks the proxy of a description.
func (v *validator) proxy(p *Proxy) {
	if p == nil {
		return
	}
	for _, of := range []struct{ field, value string }{{"httpProxy", p.HTTPProxy}, {"httpsProxy", p.HTTPSProxy}} {
		if _, err := proxyURL(of.value); err != nil {
			v.fail([]any{"proxy", of.field}, "%v", err)
		}
	}
	if strings.ContainsAny(p.NoProxy, "\n\r\x00") {
		v.fail([]any{"proxy", "noProxy"}, "has more than one line")
	}
}
