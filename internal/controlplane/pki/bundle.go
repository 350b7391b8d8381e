package pki

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"mullion.dev/mullion/internal/base/atomicfile"
)

// SANs are the names and addresses by which a server is reached.
type SANs struct {
	DNS []string
	IPs []string
}

// Bundle is a folder with a complete set of valid certificates and keys.
type Bundle struct {
	dir string
	ca  []byte // PEM
}

// Ensure makes what is missing in dir and renews leaf certificates that end soon, that another authority signed, or
// whose content must change (a new address of the API server). With a new authority, all leaves are made anew. An
// existing authority is never replaced, because every node trusts it: an unreadable or expired authority is an error.
func Ensure(dir string, apiServer SANs, now time.Time) (*Bundle, error) {
	if err := ensureFolder(dir); err != nil {
		return nil, err
	}

	authorities := map[string]*pair{}
	for _, name := range []string{CA, FrontProxyCA} {
		authority, err := ensureAuthority(filepath.Join(dir, name), name, now)
		if err != nil {
			return nil, err
		}
		authorities[name] = authority
	}

	for _, l := range leaves(apiServer) {
		if err := ensureLeaf(filepath.Join(dir, l.path), l, authorities[l.signer], now); err != nil {
			return nil, err
		}
	}

	if err := ensureServiceAccountKey(dir); err != nil {
		return nil, err
	}

	return Open(dir)
}

// Open returns the bundle of a folder that Ensure has made; it does not check the certificates.
func Open(dir string) (*Bundle, error) {
	b := &Bundle{dir: dir}
	ca, err := os.ReadFile(b.Cert(CA))
	if err != nil {
		return nil, fmt.Errorf("open certificates %q: %w", dir, err)
	}
	b.ca = ca
	return b, nil
}

// ensureFolder makes the folder and its version, or checks the version.
func ensureFolder(dir string) error {
	for _, d := range []string{dir, filepath.Join(dir, "clients")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return fmt.Errorf("make folder for certificates: %w", err)
		}
	}

	path := filepath.Join(dir, "version")
	found, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return atomicfile.Write(path, []byte(layoutVersion+"\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("read layout version of certificates: %w", err)
	}

	if got := strings.TrimSpace(string(found)); got != layoutVersion {
		return fmt.Errorf("open certificates %q: the folder has layout %q, this program knows %q", dir, got,
			layoutVersion)
	}

	return nil
}

// Cert returns the path of the named pair's certificate, a name being one of the constants.
func (b *Bundle) Cert(name string) string { return filepath.Join(b.dir, name+".crt") }

// Key returns the path of the named pair's key.
func (b *Bundle) Key(name string) string { return filepath.Join(b.dir, name+".key") }

// CAPEM returns the cluster authority's certificate.
func (b *Bundle) CAPEM() []byte { return b.ca }

// CAHash returns the cluster authority's public key hash as `kubeadm join --discovery-token-ca-cert-hash` takes it:
// "sha256:<hex>".
func (b *Bundle) CAHash() (string, error) {
	certs, err := parseCerts(b.ca)
	if err != nil {
		return "", fmt.Errorf("hash cluster authority: %w", err)
	}
	sum := sha256.Sum256(certs[0].RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// Kubeconfig returns a configuration by which user talks to server (a URL), with everything embedded.
func (b *Bundle) Kubeconfig(user User, clusterName, server string) (*clientcmdapi.Config, error) {
	pairName := "clients/" + user.File
	cert, err := os.ReadFile(b.Cert(pairName))
	if err != nil {
		return nil, fmt.Errorf("make kubeconfig of %q: %w", user.Name, err)
	}
	key, err := os.ReadFile(b.Key(pairName))
	if err != nil {
		return nil, fmt.Errorf("make kubeconfig of %q: %w", user.Name, err)
	}
	return b.configOf(user, clusterName, server, cert, key), nil
}

// configOf returns the configuration of a user with a certificate and its key, both PEM.
func (b *Bundle) configOf(user User, clusterName, server string, cert, key []byte) *clientcmdapi.Config {
	contextName := user.Name + "@" + clusterName
	return &clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{clusterName: {Server: server, CertificateAuthorityData: b.ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{user.Name: {ClientCertificateData: cert, ClientKeyData: key}},
		Contexts:       map[string]*clientcmdapi.Context{contextName: {Cluster: clusterName, AuthInfo: user.Name}},
		CurrentContext: contextName,
	}
}

// WriteKubeconfig writes user's configuration to path with mode 0600, if the file does not say the same already.
func (b *Bundle) WriteKubeconfig(path string, user User, clusterName, server string) error {
	return b.WriteKubeconfigMode(path, 0o600, user, clusterName, server)
}

// WriteKubeconfigMode is WriteKubeconfig with a mode for programs that have users of their own.
func (b *Bundle) WriteKubeconfigMode(path string, mode fs.FileMode, user User, clusterName, server string) error {
	config, err := b.Kubeconfig(user, clusterName, server)
	if err != nil {
		return err
	}

	text, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("encode kubeconfig %q: %w", path, err)
	}
	if old, err := os.ReadFile(path); err == nil && string(old) == string(text) {
		return nil
	}
	return atomicfile.Write(path, text, mode)
}

// ensureAuthority returns the authority at base (a path without extension), made anew if there is none.
func ensureAuthority(base, name string, now time.Time) (*pair, error) {
	if _, err := os.Stat(base + ".crt"); errors.Is(err, os.ErrNotExist) {
		made, err := newAuthority(name, now)
		if err != nil {
			return nil, err
		}
		return made, made.write(base)
	}

	found, err := readPair(base)
	if err != nil {
		return nil, fmt.Errorf(
			"read authority %q: %w (nodes trust it, so it is not replaced; restore the file, or take the cluster down and bring it up anew)", base, err)
	}
	if !found.cert.IsCA {
		return nil, fmt.Errorf("read authority %q: the certificate is not one of an authority", base)
	}

	if now.After(found.cert.NotAfter) {
		return nil, fmt.Errorf("read authority %q: it expired on %s; take the cluster down and bring it up anew", base,
			found.cert.NotAfter.Format(time.DateOnly))
	}
	return found, nil
}

// ensureLeaf keeps the pair at base if it is valid for l, and makes a new one otherwise.
func ensureLeaf(base string, l leaf, signer *pair, now time.Time) error {
	found, err := readPair(base)
	if err == nil && fault(found.cert, l, signer.cert, now) == "" {
		return nil
	}
	// Unreadable, missing or not valid: nothing depends on a leaf's key, so a new pair is made.
	made, err := newLeaf(l, signer, now)
	if err != nil {
		return err
	}
	return made.write(base)
}

// fault returns why a certificate is not what l asks for, "" if it is.
func fault(cert *x509.Certificate, l leaf, signer *x509.Certificate, now time.Time) string {
	want, err := l.template(now)
	switch {
	case err != nil:
		return err.Error()
	case cert.CheckSignatureFrom(signer) != nil:
		return "signed by another authority"
	case now.Add(renewBefore).After(cert.NotAfter) && signer.NotAfter.After(cert.NotAfter):
		return "ends soon"
	case now.Before(cert.NotBefore):
		return "not valid yet"
	case cert.Subject.String() != want.Subject.String():
		return "another subject"
	case len(cert.ExtKeyUsage) != 1 || cert.ExtKeyUsage[0] != l.usage:
		return "another usage"
	case sanKey(cert) != sanKey(want):
		return "other names or addresses"
	}

	return ""
}
