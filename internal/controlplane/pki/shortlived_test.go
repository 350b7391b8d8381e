package pki_test

import (
	"crypto/x509"
	"encoding/pem"
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
