package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/atomicfile"
)

// pair is a certificate with its key.
type pair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	return key, nil
}

func newAuthority(name string, now time.Time) (*pair, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	commonName := "kubernetes"
	if name != CA {
		commonName = name
	}

	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: commonName},
		DNSNames:              []string{commonName},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}

	return sign(template, key, template, key)
}

// template returns the certificate for l, unsigned.
func (l leaf) template(now time.Time) (*x509.Certificate, error) {
	t := &x509.Certificate{
		Subject:     pkix.Name{CommonName: l.name, Organization: l.groups},
		NotBefore:   now.Add(-backdate),
		NotAfter:    now.Add(leafLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{l.usage},
		DNSNames:    l.sans.DNS,
	}

	for _, text := range l.sans.IPs {
		ip := net.ParseIP(text)
		if ip == nil {
			return nil, fmt.Errorf("make certificate %q: %q is not an IP address", l.path, text)
		}
		t.IPAddresses = append(t.IPAddresses, ip)
	}

	return t, nil
}

func newLeaf(l leaf, signer *pair, now time.Time) (*pair, error) {
	return newLeafUntil(l, signer, now, now.Add(leafLife))
}

func newLeafUntil(l leaf, signer *pair, now, end time.Time) (*pair, error) {
	template, err := l.template(now)
	if err != nil {
		return nil, err
	}
	template.NotAfter = end
	if template.NotAfter.After(signer.cert.NotAfter) {
		template.NotAfter = signer.cert.NotAfter
	}

	key, err := newKey()
	if err != nil {
		return nil, err
	}
	return sign(template, key, signer.cert, signer.key)
}

// sign gives template a serial number, signs it, and returns it with key as a pair.
func sign(template *x509.Certificate, key *ecdsa.PrivateKey, parent *x509.Certificate,
	parentKey *ecdsa.PrivateKey,
) (*pair, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make serial number: %w", err)
	}
	template.SerialNumber = serial.Add(serial, big.NewInt(1))
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return nil, fmt.Errorf("sign certificate %q: %w", template.Subject.CommonName, err)
	}

	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read signed certificate %q: %w", template.Subject.CommonName, err)
	}
	return &pair{cert: cert, key: key}, nil
}

// write puts the pair on disk at base, a path without extension. A crash between the two files leaves a key that does
// not fit the certificate: readPair refuses that, and for a leaf the next Ensure makes both anew.
func (p *pair) write(base string) error {
	key, err := keyPEM(p.key)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(base+".key", key, 0o600); err != nil {
		return err
	}
	return atomicfile.Write(base+".crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.cert.Raw}), 0o600)
}

// readPair reads the pair at base and checks that the key is the certificate's.
func readPair(base string) (*pair, error) {
	text, err := os.ReadFile(base + ".crt")
	if err != nil {
		return nil, err
	}
	certs, err := parseCerts(text)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", base+".crt", err)
	}

	key, err := readKey(base + ".key")
	if err != nil {
		return nil, err
	}
	if !key.PublicKey.Equal(certs[0].PublicKey) {
		return nil, fmt.Errorf("read %q: the key is not the certificate's", base+".key")
	}
	return &pair{cert: certs[0], key: key}, nil
}

func readKey(path string) (*ecdsa.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("read %q: not PEM", path)
	}

	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	return key, nil
}

// ensureServiceAccountKey makes sa.key and sa.pub if they are missing. An existing key is kept, because tokens in use
// were signed with it.
func ensureServiceAccountKey(dir string) error {
	path := filepath.Join(dir, "sa.key")
	key, err := readKey(path)
	if errors.Is(err, os.ErrNotExist) {
		if key, err = newKey(); err != nil {
			return err
		}
		text, err := keyPEM(key)
		if err != nil {
			return err
		}

		if err := atomicfile.Write(path, text, 0o600); err != nil {
			return err
		}
	} else if err != nil {
		return fmt.Errorf(
			"read service-account key: %w (tokens in use were signed with it, so it is not replaced; delete the file to start anew)", err)
	}

	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encode service-account key: %w", err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	pubPath := filepath.Join(dir, "sa.pub")
	if old, err := os.ReadFile(pubPath); err == nil && string(old) == string(public) {
		return nil
	}

	return atomicfile.Write(pubPath, public, 0o600)
}

func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func parseCerts(text []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		text = rest
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}

		certs = append(certs, cert)
	}
	if len(certs) == 0 {
		return nil, errors.New("no certificate in it")
	}

	return certs, nil
}

// sanKey is equal for certificates with the same names and addresses in any order.
func sanKey(cert *x509.Certificate) string {
	names := slices.Clone(cert.DNSNames)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}
