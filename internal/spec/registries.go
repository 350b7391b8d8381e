package spec

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// Registries says how the nodes reach registries of images: in whose place others are asked, and with what credentials
// and certificates. The fields are those of k3s' and k3d's registries.yaml
// (https://docs.k3s.io/installation/private-registry), in the spelling of cluster.yaml.
type Registries struct {
	// Mirrors are the registries that are asked in a registry's place, by its host ("docker.io"); "*" is any other.
	Mirrors map[string]Mirror `yaml:"mirrors,omitempty" json:"mirrors,omitempty"`
	// Configs say how a registry or a mirror is spoken to, by its host.
	Configs map[string]RegistryConfig `yaml:"configs,omitempty" json:"configs,omitempty"`
}

// Mirror is what is asked in a registry's place: URLs, one after the other, and then the registry itself.
type Mirror struct {
	Endpoint []string `yaml:"endpoint" json:"endpoint"`
}

// RegistryConfig says how a host is spoken to.
type RegistryConfig struct {
	Auth RegistryAuth `yaml:"auth,omitempty" json:"auth,omitzero"`
	TLS  RegistryTLS  `yaml:"tls,omitempty" json:"tls,omitzero"`
}

// RegistryAuth are credentials: a name and a password, or both as Docker keeps them (base64 of "name:password"), or a
// refresh token.
type RegistryAuth struct {
	Username      string `yaml:"username,omitempty" json:"username,omitempty"`
	Password      string `yaml:"password,omitempty" json:"password,omitempty"`
	Auth          string `yaml:"auth,omitempty" json:"auth,omitempty"`
	IdentityToken string `yaml:"identityToken,omitempty" json:"identityToken,omitempty"`
}

// RegistryTLS says whose certificates are believed.
type RegistryTLS struct {
	// CAFile is a file of this machine with authorities in PEM, an absolute path. It is read when a node starts.
	CAFile             string `yaml:"caFile,omitempty" json:"caFile,omitempty"`
	InsecureSkipVerify bool   `yaml:"insecureSkipVerify,omitempty" json:"insecureSkipVerify,omitempty"`
}

// AnyRegistry stands for every host that has no mirrors of its own.
const AnyRegistry = "*"

// Hosts returns the hosts of which something is said, sorted.
func (r Registries) Hosts() []string {
	all := map[string]bool{}
	for host := range r.Mirrors {
		all[host] = true
	}
	for host, c := range r.Configs {
		if c.TLS != (RegistryTLS{}) {
			all[host] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// WithoutPasswords returns the same without credentials, to be shown.
func (r Registries) WithoutPasswords() Registries {
	configs := map[string]RegistryConfig{}
	for host, c := range r.Configs {
		c.Auth = RegistryAuth{Username: c.Auth.Username}
		configs[host] = c
	}
	r.Configs = configs
	return r
}

// registryHost matches a host as the names of images have it.
var registryHost = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$`)

// registries checks how registries are reached.
func (v *validator) registries(r *Registries) {
	if r == nil {
		return
	}

	for _, host := range slices.Sorted(maps.Keys(r.Mirrors)) {
		at := []any{"registries", "mirrors", host}
		if host != AnyRegistry && !registryHost.MatchString(host) {
			v.fail(at, "%q is not the host of a registry, for example docker.io or registry.example:5000", host)
		}
		if len(r.Mirrors[host].Endpoint) == 0 {
			v.fail(at, "endpoint names no mirror")
		}
		for i, endpoint := range r.Mirrors[host].Endpoint {
			if why := notEndpoint(endpoint); why != "" {
				v.fail(append(at, "endpoint", i), "%s", why)
			} else if slices.Contains(r.Mirrors[host].Endpoint[:i], endpoint) { // containerd would read none of them
				v.fail(append(at, "endpoint", i), "it is named twice")
			}
		}
	}

	for _, host := range slices.Sorted(maps.Keys(r.Configs)) {
		at := []any{"registries", "configs", host}
		if !registryHost.MatchString(host) {
			v.fail(at, "%q is not the host of a registry, for example registry.example:5000", host)
		}
		c := r.Configs[host]
		if why := c.Auth.wrong(); why != "" {
			v.fail(append(at, "auth"), "%s", why)
		}
		if file := c.TLS.CAFile; file != "" && (!filepath.IsAbs(file) || filepath.Clean(file) != file) {
			v.fail(append(at, "tls", "caFile"), "%q is not the absolute path of a file", file)
		}
	}
}

// notEndpoint says what is wrong with the URL of a mirror, "" if nothing is.
func notEndpoint(endpoint string) string {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil: // its text has the URL, which may have a password
		return "it is not a URL"
	case u.User != nil:
		return "it has a name or a password: they go into configs, auth"
	case u.Scheme != "https" && u.Scheme != "http", !registryHost.MatchString(u.Host), u.RawQuery != "", u.Fragment != "":
		return fmt.Sprintf("%q is not a URL such as https://mirror.example:5000", endpoint)
	case loopback(u.Hostname()):
		return u.Hostname() + " is each node's own loopback address: name the mirror by an address that nodes reach"
	case strings.ContainsAny(u.Path, "\"\\\n\r"):
		return "its path has a character that no registry's has"
	}
	return ""
}

// wrong says what is wrong with credentials, "" if nothing is.
func (a RegistryAuth) wrong() string {
	kinds := 0
	for _, is := range []bool{a.Username != "" || a.Password != "", a.Auth != "", a.IdentityToken != ""} {
		if is {
			kinds++
		}
	}

	decoded, err := base64.StdEncoding.DecodeString(a.Auth)
	switch {
	case kinds > 1:
		return "it has more than one of username with password, auth and identityToken"
	case (a.Username == "") != (a.Password == ""):
		return "username and password belong together"
	case a.Auth != "" && (err != nil || !strings.Contains(string(decoded), ":")):
		return "auth is not base64 of name:password"
	}
	return ""
}
