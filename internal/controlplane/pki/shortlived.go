package pki

import (
	"crypto/x509"
	"encoding/pem"
	"path/filepath"
	"time"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ShortLived returns a configuration by which user talks to server (a URL), with a certificate that ends after life and
// a key that is made for it. Neither is kept.
func (b *Bundle) ShortLived(user User, clusterName, server string, now time.Time, life time.Duration) (
	*clientcmdapi.Config, error,
) {
	authority, err := readPair(filepath.Join(b.dir, CA))
	if err != nil {
		return nil, err
	}
	l := leaf{
		name:   user.Name,
		groups: user.Groups,
		usage:  x509.ExtKeyUsageClientAuth,
	}

	made, err := newLeafUntil(l, authority, now, now.Add(life))
	if err != nil {
		return nil, err
	}
	key, err := keyPEM(made.key)
	if err != nil {
		return nil, err
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.cert.Raw})
	return b.configOf(user, clusterName, server, cert, key), nil
}
