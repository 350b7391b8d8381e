package certutil

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
)

// fake is a Windows with stores of certificates.
type fake struct {
	stores map[string]string // the certificates that were added
	err    error
}

func (w *fake) Add(machine bool, store string, certificate []byte) (bool, error) {
	if w.err != nil {
		return false, w.err
	}
	if w.stores == nil {
		w.stores = map[string]string{}
	}
	key := fmt.Sprint(store, " ", machine)
	added := w.stores[key] != string(certificate)
	w.stores[key] = string(certificate)
	return added, nil
}

type result = programtest.Result

// run runs certutil on a fake; the first argument is its name.
func run(t *testing.T, w *fake, args ...string) result {
	t.Helper()
	return programtest.Run("", func(e program.Env) int { return Run(e, w, args[1:]) })
}

func TestCertutil(t *testing.T) {
	dir := t.TempDir()
	programtest.Write(t, dir, map[string]string{"abc": "abc", "bad": "no base64!", "bare": "YW\r\nJj\n"})
	file := func(name string) string { return filepath.Join(dir, name) }
	const notThere = "CertUtil: -%s command FAILED: 0x80070002 (WIN32: 2 ERROR_FILE_NOT_FOUND)\nCertUtil: The system cannot find the file specified.\n"
	for _, tt := range []struct {
		name string
		args []string
		want result
	}{
		{"sha1", []string{"-hashfile", file("abc")}, result{Out: "SHA1 hash of " + file("abc") + ":\na9993e364706816aba3e25717850c26c9cd0d89d\nCertUtil: -hashfile command completed successfully.\n"}},
		{"sha256", []string{"-HashFile", file("abc"), "sha256"}, result{Out: "SHA256 hash of " + file("abc") + ":\nba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\nCertUtil: -hashfile command completed successfully.\n"}},
		{"no hash", []string{"-hashfile", file("abc"), "sha3"}, result{Code: -805305819, Out: "CertUtil: -hashfile command FAILED: 0xd0000225 (NT: 0xc0000225 STATUS_NOT_FOUND)\nCertUtil: The object was not found.\n"}},
		{"no file", []string{"-hashfile", file("none")}, result{Code: -2147024894, Out: strings.ReplaceAll(notThere, "%s", "hashfile")}},
		{"encode", []string{"-encode", file("abc"), file("abc64")}, result{Out: "Input Length = 3\nOutput Length = 62\nCertUtil: -encode command completed successfully.\n"}},
		{"there already", []string{"-encode", file("abc"), file("abc64")}, result{Code: -2147024816, Out: "CertUtil: -encode command FAILED: 0x80070050 (WIN32: 80 ERROR_FILE_EXISTS)\nCertUtil: The file exists.\n"}},
		{"decode", []string{"-f", "-decode", file("abc64"), file("abc")}, result{Out: "Input Length = 62\nOutput Length = 3\nCertUtil: -decode command completed successfully.\n"}},
		{"decode bare", []string{"-decode", file("bare"), file("abc2")}, result{Out: "Input Length = 7\nOutput Length = 3\nCertUtil: -decode command completed successfully.\n"}},
		{"decode nonsense", []string{"-decode", file("bad"), file("abc3")}, result{Code: -2147024883, Out: "CertUtil: -decode command FAILED: 0x8007000d (WIN32: 13 ERROR_INVALID_DATA)\nCertUtil: The data is invalid.\n"}},
		{"one word", []string{"-encode", file("abc")}, result{Code: -2147024809, Out: "CertUtil: -encode command FAILED: 0x80070057 (WIN32: 87 ERROR_INVALID_PARAMETER)\nCertUtil: The parameter is incorrect.\n"}},
		{"other", []string{"-urlcache", "-f", "x"}, result{Code: 1, Err: "CertUtil: -urlcache is not part of Mullion's certutil, which has -addstore, -decode, -encode and -hashfile.\n"}},
		{"no certificate", []string{"-addstore", "Root", file("abc")}, result{Code: -2146885630, Out: "CertUtil: -addstore command FAILED: 0x80092002 (-2146885630 CRYPT_E_BAD_ENCODE)\nCertUtil: An error occurred during encode or decode operation.\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, run(t, &fake{}, append([]string{"certutil"}, tt.args...)...)); diff != "" {
				t.Error(diff)
			}
		})
	}

	for _, name := range []string{"abc", "abc2"} {
		if text, err := os.ReadFile(file(name)); err != nil || string(text) != "abc" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

func TestCertutilStore(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test CA"}, NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour),
	}

	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	programtest.Write(t, dir, map[string]string{"der": string(der), "pem": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))})
	w := &fake{}
	const head, tail = "Root \"Trusted Root Certification Authorities\"\nSignature matches Public Key\n", "CertUtil: -addstore command completed successfully.\n"
	got := run(t, w, "certutil", "-f", "-addstore", "Root", filepath.Join(dir, "pem"))
	if diff := cmp.Diff(result{Out: head + "Certificate \"Test CA\" added to store.\n" + tail}, got); diff != "" {
		t.Error(diff)
	}

	got = run(t, w, "certutil", "-addstore", "Root", filepath.Join(dir, "der"))
	if !strings.Contains(got.Out, `Certificate "Test CA" already in store.`) {
		t.Errorf("%+v", got)
	}
	if got := run(t, w, "certutil", "-user", "-addstore", "My", filepath.Join(dir, "der")); got.Code != 0 {
		t.Errorf("%+v", got)
	}

	if diff := cmp.Diff(map[string]string{"Root true": string(der), "My false": string(der)}, w.stores); diff != "" {
		t.Error(diff)
	}
	w.err = os.ErrPermission
	if got := run(t, w, "certutil", "-addstore", "Root", filepath.Join(dir, "der")); got.Code != -2147024891 {
		t.Errorf("%+v", got)
	}
}
