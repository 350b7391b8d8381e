package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mullion.dev/mullion/internal/controlplane/pki"
)

// TestShortLived: a reader's certificate is one of the cluster's authority, ends in time, is for clients only, and no
// two have the same key. Nothing of it is in the folder.
func TestShortLived(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	bundle, err := pki.Ensure(dir, pki.SANs{DNS: []string{"localhost"}}, now)
	if err != nil {
		t.Fatal(err)
	}

	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(bundle.CAPEM())
	keys := map[string]bool{}
	for range 2 {
		config, err := bundle.ShortLived(pki.Viewer(), "team", "https://127.0.0.1:6443", now, time.Hour)
		if err != nil {
			t.Fatal(err)
		}

		user := config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo]
		block, _ := pem.Decode(user.ClientCertificateData)
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}

		options := x509.VerifyOptions{
			Roots:       authority,
			CurrentTime: now.Add(time.Hour - time.Second),
			KeyUsages:   []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}
		if _, err := cert.Verify(options); err != nil {
			t.Error(err)
		}

		options.CurrentTime = now.Add(time.Hour + time.Second)
		if _, err := cert.Verify(options); err == nil {
			t.Error("it has no end")
		}
		options.CurrentTime, options.KeyUsages = now, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		if _, err := cert.Verify(options); err == nil || cert.IsCA {
			t.Error("a server may show it")
		}

		if got := cert.Subject.String(); got != "CN=mullion:viewer,O=mullion:viewers" {
			t.Errorf("its subject is %s", got)
		}
		if keys[string(user.ClientKeyData)] {
			t.Error("two readers have one key")
		}
		keys[string(user.ClientKeyData)] = true
	}
}

// TestUnkept: a node's first certificate is one that the Node authorizer knows, of the cluster's authority, for clients
// only, and ends as those do that are kept. The key behind it is its own, and neither is in the folder.
func TestUnkept(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	bundle, err := pki.Ensure(dir, pki.SANs{DNS: []string{"localhost"}}, now)
	if err != nil {
		t.Fatal(err)
	}
	before, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}

	text, err := bundle.Unkept(pki.Kubelet("win-1"), now)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		t.Fatal(err)
	}

	if got := pair.Leaf.Subject.String(); got != "CN=system:node:win-1,O=system:nodes" {
		t.Errorf("its subject is %s", got)
	}

	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(bundle.CAPEM())
	options := x509.VerifyOptions{
		Roots:       authority,
		CurrentTime: now.Add(364 * 24 * time.Hour),
		KeyUsages:   []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}

	if _, err := pair.Leaf.Verify(options); err != nil {
		t.Error(err)
	}
	options.CurrentTime = now.Add(366 * 24 * time.Hour)
	if _, err := pair.Leaf.Verify(options); err == nil {
		t.Error("it has no end")
	}

	after, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || !slices.Equal(before, after) {
		t.Errorf("the folder has %v, and had %v (%v)", after, before, err)
	}

	if err := os.Remove(bundle.Key(pki.CA)); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.Unkept(pki.Kubelet("win-1"), now); err == nil {
		t.Error("signed without the authority's key")
	}
}
