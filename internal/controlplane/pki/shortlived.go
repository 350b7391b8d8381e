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
	cert, key, err := b.unkept(user, now, now.Add(life))
	if err != nil {
		return nil, err
	}
	return b.configOf(user, clusterName, server, cert, key), nil
}

// Unkept returns a client certificate of user and, behind it, the key that is made for it (PEM). It is valid as long as
// those that are kept.
func (b *Bundle) Unkept(user User, now time.Time) ([]byte, error) {
	cert, key, err := b.unkept(user, now, now.Add(leafLife))
	return append(cert, key...), err
}

func (b *Bundle) unkept(user User, now, end time.Time) (cert, key []byte, err error) {
	authority, err := readPair(filepath.Join(b.dir, CA))
	if err != nil {
		return nil, nil, err
	}
	l := leaf{
		name:   user.Name,
		groups: user.Groups,
		usage:  x509.ExtKeyUsageClientAuth,
	}

	made, err := newLeafUntil(l, authority, now, end)
	if err != nil {
		return nil, nil, err
	}
	if key, err = keyPEM(made.key); err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.cert.Raw}), key, nil
}
