// Package registries owns what the nodes' container runtimes are told of how registries of images are reached: the
// files of containerd's config_path, and credentials. It does not know where a node keeps them.
package registries

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/spec"
)

// anyHost is the name that containerd gives to what is said of every host:
// https://github.com/containerd/containerd/blob/v2.4.2/docs/hosts.md
const anyHost = "_default"

// maxAuthorities bounds a file of authorities, in bytes.
const maxAuthorities = 4 << 20

// Files returns the files of a folder for containerd's config_path, by their paths below it: HOST/hosts.toml, and
// beside it the authorities that the person has named, as they are now.
func Files(r spec.Registries) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, host := range r.Hosts() {
		dir := host
		if host == spec.AnyRegistry {
			dir = anyHost
		}

		var text strings.Builder
		if host != spec.AnyRegistry {
			spoken := image.SpokenTo(host)
			fmt.Fprintf(&text, "server = %q\n", "https://"+spoken)
			if err := tls(&text, files, r, dir, host, spoken); err != nil {
				return nil, err
			}
		}

		for _, endpoint := range r.Mirrors[host].Endpoint {
			u, err := url.Parse(endpoint)
			if err != nil {
				return nil, fmt.Errorf("read the mirror of %s: %w", host, err)
			}
			fmt.Fprintf(&text, "\n[host.%q]\ncapabilities = [\"pull\", \"resolve\"]\n", endpoint)
			if strings.Trim(u.Path, "/") != "" {
				text.WriteString("override_path = true\n")
			}
			if err := tls(&text, files, r, dir, u.Host); err != nil {
				return nil, err
			}
		}

		files[dir+"/hosts.toml"] = []byte(text.String())
	}

	return files, nil
}

// tls writes what is said of the certificates of a host, under the first of its names of which something is said, and
// adds the file with its authorities.
func tls(text *strings.Builder, files map[string][]byte, r spec.Registries, dir string, names ...string) error {
	for _, name := range names {
		c, ok := r.Configs[name]
		if !ok {
			continue
		}

		if c.TLS.InsecureSkipVerify {
			text.WriteString("skip_verify = true\n")
		}
		if c.TLS.CAFile == "" {
			return nil
		}

		data, err := authorities(c.TLS.CAFile)
		if err != nil {
			return fmt.Errorf("read the authorities of %s: %w", name, err)
		}
		file := strings.ReplaceAll(name, ":", "_") + ".crt"
		files[dir+"/"+file] = data
		fmt.Fprintf(text, "ca = %q\n", file)

		return nil
	}
	return nil
}

// authorities returns the certificates in a file that a person has named, and nothing else of it: a key that lies
// beside them, or another file that its owner has put there, is not for the nodes.
func authorities(path string) ([]byte, error) {
	f, err := beneath.OpenGiven(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rest, err := io.ReadAll(io.LimitReader(f, maxAuthorities+1))
	if err == nil && len(rest) > maxAuthorities {
		err = fmt.Errorf("%q has more than %d bytes: %w", path, maxAuthorities, os.ErrInvalid)
	}
	if err != nil {
		return nil, err
	}

	var all []byte
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return nil, fmt.Errorf("read %q: %w", path, err)
		}
		all = append(all, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%q has no certificate in PEM: %w", path, os.ErrInvalid)
	}

	return all, nil
}

// Auths returns the credentials for registries, by the host that is spoken to.
func Auths(r spec.Registries) map[string]spec.RegistryAuth {
	all := map[string]spec.RegistryAuth{}
	for _, host := range slices.Sorted(maps.Keys(r.Configs)) {
		if auth := r.Configs[host].Auth; auth != (spec.RegistryAuth{}) {
			all[image.SpokenTo(host)] = auth
		}
	}
	return all
}

// AuthTOML says the credentials of registries, for pods that bring none, in the configuration of a plugin of
// containerd. containerd has them there alone, beside config_path too, and calls this way of it deprecated.
func AuthTOML(r spec.Registries, plugin string) string {
	var b strings.Builder
	all := Auths(r)
	for _, host := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "\n[plugins.'%s'.registry.configs.%q.auth]\n", plugin, host)
		auth := all[host]
		for _, v := range []struct{ key, value string }{
			{"username", auth.Username},
			{"password", auth.Password},
			{"auth", auth.Auth},
			{"identitytoken", auth.IdentityToken},
		} {
			if v.value != "" {
				text, _ := json.Marshal(v.value) // a string has no error, and TOML's escapes are JSON's
				fmt.Fprintf(&b, "  %s = %s\n", v.key, text)
			}
		}
	}
	return b.String()
}

// ForWindows says how a store of Windows images reaches registries: first as the files in dir say, which need not be
// there, then as the machine's own do.
func ForWindows(dir string, auths map[string]spec.RegistryAuth) image.Registries {
	r := image.Registries{
		HostDirs: append([]string{dir}, image.MachineDirs()...),
		Auths:    map[string]image.Auth{},
	}
	for host, a := range auths {
		r.Auths[host] = image.Auth{
			Username:      a.Username,
			Password:      a.Password,
			Auth:          a.Auth,
			IdentityToken: a.IdentityToken,
		}
	}
	return r
}
