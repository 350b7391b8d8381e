package image

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	dockerconfig "github.com/containerd/containerd/v2/core/remotes/docker/config"
	remoteerrors "github.com/containerd/containerd/v2/core/remotes/errors"
	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
)

// Auth is how to log on to a registry, with the meaning of the fields of CRI's AuthConfig.
type Auth struct {
	Username, Password string
	// Auth is base64 of "user:password".
	Auth string
	// ServerAddress limits the credentials to one host; empty: any.
	ServerAddress string
	// IdentityToken is an OAuth2 refresh token.
	IdentityToken string
}

// credentials answers the resolver's question for user name and secret of a host, as containerd's CRI plugin does
// (https://github.com/containerd/containerd/blob/v2.4.2/internal/cri/server/images/image_pull.go, ParseAuth).
func (a *Auth) credentials(host string) (user, secret string, err error) {
	if a == nil {
		return "", "", nil
	}

	if a.ServerAddress != "" {
		address := a.ServerAddress
		if !strings.Contains(address, "://") {
			address = "https://" + address
		}
		u, err := url.Parse(address)
		if err != nil {
			return "", "", fmt.Errorf("parse registry address %q: %w", a.ServerAddress, err)
		}

		if u.Host != host {
			return "", "", nil
		}
	}

	switch {
	case a.Username != "":
		return a.Username, a.Password, nil
	case a.IdentityToken != "":
		return "", a.IdentityToken, nil
	case a.Auth != "":
		raw, err := base64.StdEncoding.DecodeString(a.Auth)
		if err != nil {
			return "", "", fmt.Errorf("decode registry credentials: %w", err)
		}
		user, secret, ok := strings.Cut(string(raw), ":")
		if !ok {
			return "", "", fmt.Errorf("decode registry credentials: want user:password in base64: %w",
				errdefs.ErrInvalidArgument)
		}

		return user, strings.TrimRight(secret, "\x00"), nil
	}

	return "", "", nil
}

// resolver reaches registries as containerd does: hosts.toml folders first; else HTTPS, and for a loopback registry
// with a port HTTPS without verification and then HTTP.
func (r Registries) resolver(ctx context.Context, auth *Auth) remotes.Resolver {
	opts := dockerconfig.HostOptions{
		Credentials:    r.credentials(auth),
		AuthorizerOpts: []docker.AuthorizerOpt{docker.WithAuthHeader(r.Headers)},
	}
	if len(r.HostDirs) > 0 {
		opts.HostDir = r.hostDir
	}
	if r.Proxy != nil {
		opts.UpdateClient = r.proxied
	}
	return docker.NewResolver(docker.ResolverOptions{
		Headers: r.Headers,
		Hosts:   dockerconfig.ConfigureHosts(ctx, opts),
	})
}

// proxied has a client go by r.Proxy.
func (r Registries) proxied(client *http.Client) error {
	transport, ok := client.Transport.(*http.Transport)
	if !ok {
		return fmt.Errorf("set the proxy of a registry's client: its transport is %T", client.Transport)
	}
	transport.Proxy = r.Proxy
	return nil
}

// credentials answers for a request that brings auth, or nil. A host that auth is not for, a mirror, gets its own.
func (r Registries) credentials(auth *Auth) func(host string) (user, secret string, err error) {
	return func(host string) (string, string, error) {
		user, secret, err := auth.credentials(host)
		if own, ok := r.Auths[host]; ok && user == "" && secret == "" && err == nil {
			return own.credentials(host)
		}
		return user, secret, err
	}
}

// Docker's own registry, which images do not name, is spoken to at another host than it is called
// (https://github.com/containerd/containerd/blob/v2.4.2/docs/hosts.md).
const (
	dockerHost  = "docker.io"
	dockerSpoke = "registry-1.docker.io"
)

// SpokenTo returns the host that is spoken to for one that images name.
func SpokenTo(host string) string {
	if host == dockerHost {
		return dockerSpoke
	}
	return host
}

// ServerOf returns the registry of a reference as Auth.ServerAddress has it, a URL.
func ServerOf(ref string) (string, error) {
	named, err := reference.ParseDockerRef(ref)
	if err != nil {
		return "", fmt.Errorf("parse image reference %q: %w: %w", ref, err, errdefs.ErrInvalidArgument)
	}
	return "https://" + SpokenTo(reference.Domain(named)), nil
}

func (r Registries) hostDir(host string) (string, error) {
	for _, root := range r.HostDirs {
		dir, err := dockerconfig.HostDirFromRoot(root)(host)
		if err != nil && !errdefs.IsNotFound(err) {
			return "", fmt.Errorf("look for registry host %q in %q: %w", host, root, err)
		}
		if dir != "" {
			return dir, nil
		}
	}
	return "", errdefs.ErrNotFound
}

// RegistryRemedy says what to do about the error of a registry that does not give an image; "" where that is not known.
func RegistryRemedy(ref string, err error) string {
	named, wrong := reference.ParseDockerRef(ref)
	if wrong != nil {
		return "an image's name is like registry.example/team/app:v1"
	}

	registry := reference.Domain(named)
	status := 0
	if answer, ok := errors.AsType[remoteerrors.ErrUnexpectedStatus](err); ok {
		status = answer.StatusCode
	}

	logOn := "`docker login " + registry + "`, as the user who runs this (with sudo: root)"
	switch {
	case errors.Is(err, docker.ErrInvalidAuthorization), status == http.StatusUnauthorized,
		status == http.StatusForbidden:
		return "log on by " + logOn + "; if that was done, the account may not pull it, or the name is another"
	case status == http.StatusTooManyRequests:
		return "it has had too many requests: wait, or log on by " + logOn
	case status >= http.StatusInternalServerError:
		return "the registry is at fault: try again later"
	}

	return ""
}

// Normalize returns the full form of a reference, as containerd stores it: "nginx" is "docker.io/library/nginx:latest".
func Normalize(ref string) (string, error) {
	named, err := reference.ParseDockerRef(ref)
	if err != nil {
		return "", fmt.Errorf("parse image reference %q: %w: %w", ref, err, errdefs.ErrInvalidArgument)
	}
	return named.String(), nil
}
