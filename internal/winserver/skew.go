package winserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/node/nodeconfig"
	"mullion.dev/mullion/internal/winserver/api"
)

// maxOlder is by how many minor versions kubelet and kube-proxy may be older than the API server; they may not be newer
// (https://kubernetes.io/releases/version-skew-policy/#kubelet).
const maxOlder = 3

// release is a version of Kubernetes, without its patch.
type release struct{ major, minor int }

func (r release) String() string { return fmt.Sprintf("%d.%d", r.major, r.minor) }

var releaseText = lazyregexp.New(`\bv([0-9]{1,4})\.([0-9]{1,4})\.[0-9]`)

// parseRelease finds a version in what a program or the API server says, for example "Kubernetes v1.37.1".
func parseRelease(text string) (release, error) {
	m := releaseText.FindStringSubmatch(text)
	if m == nil {
		return release{}, fmt.Errorf("%q has no version of Kubernetes", text)
	}
	major, err := strconv.Atoi(m[1])
	if err != nil {
		return release{}, err
	}
	minor, err := strconv.Atoi(m[2])
	return release{major, minor}, err
}

// allowed reports whether a program of version r may talk to an API server.
func (r release) allowed(server release) bool {
	return r.major == server.major && r.minor <= server.minor && server.minor-r.minor <= maxOlder
}

// serverVersion returns the API server's version, empty if the client may not ask.
func (c change) serverVersion(ctx context.Context, client *api.Client) (string, error) {
	version, err := client.Version(ctx)
	if errors.Is(err, api.ErrForbidden) || errors.Is(err, api.ErrUnauthorized) {
		c.say("the API server does not tell its version, so the programs' are not compared with it")
		return "", nil
	}
	return version, err
}

// ownServerVersion is serverVersion for a node.
func (c change) ownServerVersion(ctx context.Context) (string, error) {
	ca, err := os.ReadFile(c.file(nodeconfig.CAFile))
	if err != nil {
		return "", fmt.Errorf("ask for the API server's version: %w", err)
	}
	client, err := api.ByCertificate(c.journal.Server, ca, c.file(kubeletCertPEM))
	if err != nil {
		return "", err
	}
	return c.serverVersion(ctx, client)
}

// skew returns an error that wraps ErrSkew if a new kubelet or kube-proxy is none for an API server of that version.
func (c change) skew(ctx context.Context, server string, names []string) error {
	if server == "" {
		return nil
	}
	there, err := parseRelease(server)
	if err != nil {
		return fmt.Errorf("read the API server's version: %w", err)
	}

	for _, name := range []string{"kubelet.exe", "kube-proxy.exe"} {
		if !slices.Contains(names, name) {
			continue
		}
		text, err := c.Version(ctx, c.file(path.Join(stagingDir, name)))
		if err != nil {
			return fmt.Errorf("ask %s for its version: %w", name, err)
		}

		here, err := parseRelease(text)
		if err != nil {
			return fmt.Errorf("ask %s for its version: %w", name, err)
		}
		if !here.allowed(there) {
			return fmt.Errorf("%s is of Kubernetes %s, the API server of %s: %w", name, here, there, ErrSkew)
		}
	}

	return nil
}
