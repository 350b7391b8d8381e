package join

import (
	"fmt"
	"path/filepath"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/spec"
)

// CommandLine returns the command line with which another machine joins.
func CommandLine(paths layout.Paths, c spec.Cluster, t bootstrap.Token) (string, error) {
	hash, err := AuthorityHash(paths)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("mullion join --server %s:%d --token %s --ca-cert-hash %s", c.Networking.AdvertiseAddress,
		c.Networking.APIServerPort, t, hash), nil
}

// AuthorityHash returns the hash of the cluster's certificate authority.
func AuthorityHash(paths layout.Paths) (string, error) {
	bundle, err := pki.Open(filepath.Join(paths.Data, "pki"))
	if err != nil {
		return "", err
	}
	return bundle.CAHash()
}
