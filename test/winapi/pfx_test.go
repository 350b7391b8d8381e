//go:build wine

package winapi

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

type pfxKind struct {
	name        string
	key, export []string
}

// pfxKinds are the PFX files that TestPFX of the program imports, with how OpenSSL makes the key and the file.
var pfxKinds = []pfxKind{
	{"rsa", []string{"rsa:2048"}, nil},
	{"rsa-legacy", []string{"rsa:2048"}, []string{"-legacy"}},
	{
		"rsa-3des",
		[]string{"rsa:2048"},
		[]string{"-certpbe", "PBE-SHA1-3DES", "-keypbe", "PBE-SHA1-3DES", "-macalg", "SHA1"},
	},
	{"p256", []string{"ec", "-pkeyopt", "ec_paramgen_curve:P-256"}, nil},
	{"p256-legacy", []string{"ec", "-pkeyopt", "ec_paramgen_curve:P-256"}, []string{"-legacy"}},
	{"p384", []string{"ec", "-pkeyopt", "ec_paramgen_curve:P-384"}, []string{"-keypbe", "AES-128-CBC"}},
	{"p384-open", []string{"ec", "-pkeyopt", "ec_paramgen_curve:P-384"}, []string{"-keypbe", "NONE", "-certpbe", "NONE"}},
	{"p256-nomac", []string{"ec", "-pkeyopt", "ec_paramgen_curve:P-256"}, []string{"-nomac"}},
}

// makePFX leaves PFX files for the program in C:\pfx, with a second certificate in each; nothing without OpenSSL.
func makePFX(t *testing.T, p prefix) {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		return
	}
	dir := filepath.Join(p.dir, "drive_c/pfx")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}

	openssl := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "openssl", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("openssl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}

	for _, kind := range pfxKinds {
		args := append([]string{
			"req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=" + kind.name, "-keyout",
			kind.name + ".key", "-out", kind.name + ".crt", "-newkey",
		}, kind.key...)
		openssl(args...)
	}

	openssl("req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=another", "-keyout", "another.key", "-out",
		"another.crt", "-newkey", "rsa:2048")
	for _, kind := range pfxKinds {
		openssl(append([]string{
			"pkcs12", "-export", "-in", kind.name + ".crt", "-inkey", kind.name + ".key", "-certfile",
			"another.crt", "-out", kind.name + ".pfx", "-passout", "pass:secret",
		}, kind.export...)...)
	}

	openssl("pkcs12", "-export", "-in", "p256.crt", "-inkey", "p256.key", "-out", "no-password.pfx", "-passout", "pass:")
	openssl("pkcs12", "-export", "-in", "p256.crt", "-nokeys", "-out", "no-key.pfx", "-passout", "pass:secret")
}

// checkPFX verifies with Go on Linux what the program has signed with the keys of the PFX files.
func checkPFX(t *testing.T, p prefix) {
	t.Helper()
	dir := filepath.Join(p.dir, "drive_c/pfx")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("openssl is not installed, which makes PFX files")
	}

	hash := sha256.Sum256([]byte("signed on Windows"))
	for _, kind := range pfxKinds {
		text, err := os.ReadFile(filepath.Join(dir, kind.name+".crt"))
		if err != nil {
			t.Fatal(err)
		}
		signature, err := os.ReadFile(filepath.Join(dir, kind.name+".sig"))
		if err != nil {
			t.Error(err)
			continue
		}

		block, _ := pem.Decode(text)
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}

		good := false
		switch public := certificate.PublicKey.(type) {
		case *rsa.PublicKey:
			good = rsa.VerifyPSS(public, crypto.SHA256, hash[:], signature, nil) == nil
		case *ecdsa.PublicKey:
			half := len(signature) / 2
			good = ecdsa.Verify(public, hash[:], new(big.Int).SetBytes(signature[:half]),
				new(big.Int).SetBytes(signature[half:]))
		}
		if !good {
			t.Errorf("%s: Go does not verify what was signed", kind.name)
		}
	}
}
