package tools

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSort(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"in": "b\r\nA\r\nc\r\na\r\n"})
	t.Chdir(dir) // on this system a name with its folder looks like an option
	const in, out = "in", "out"
	for _, tt := range []struct {
		name, input string
		args        []string
		want        result
	}{
		{"input", "b\nA\nc\n", nil, result{0, "A\nb\nc\n", ""}},
		{"file", "", []string{in}, result{0, "A\na\nb\nc\n", ""}},
		{"reverse", "b\nA\nc\n", []string{"/r"}, result{0, "c\nb\nA\n", ""}},
		{"unique", "", []string{"/UNIQUE", in}, result{0, "A\nb\nc\n", ""}},
		{"column", "1b\n3\n2a\n", []string{"/+2"}, result{0, "3\n2a\n1b\n", ""}},
		{"to a file", "", []string{in, "/o", out}, result{}},
		{"no file", "", []string{"none"}, result{1, "", "noneThe system cannot find the file specified.\n"}},
		{"switch", "", []string{"/x"}, result{1, "", "Invalid switch.\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := run(t, &fake{}, tt.input, append([]string{"sort"}, tt.args...)...); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
	if text, err := os.ReadFile(out); err != nil || string(text) != "A\r\na\r\nb\r\nc\r\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestCertutil(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"abc": "abc", "bad": "no base64!", "bare": "YW\r\nJj\n"})
	file := func(name string) string { return filepath.Join(dir, name) }
	const notThere = "CertUtil: -%s command FAILED: 0x80070002 (WIN32: 2 ERROR_FILE_NOT_FOUND)\nCertUtil: The system cannot find the file specified.\n"
	for _, tt := range []struct {
		name string
		args []string
		want result
	}{
		{"sha1", []string{"-hashfile", file("abc")}, result{0, "SHA1 hash of " + file("abc") + ":\na9993e364706816aba3e25717850c26c9cd0d89d\nCertUtil: -hashfile command completed successfully.\n", ""}},
		{"sha256", []string{"-HashFile", file("abc"), "sha256"}, result{0, "SHA256 hash of " + file("abc") + ":\nba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\nCertUtil: -hashfile command completed successfully.\n", ""}},
		{"no hash", []string{"-hashfile", file("abc"), "sha3"}, result{-805305819, "CertUtil: -hashfile command FAILED: 0xd0000225 (NT: 0xc0000225 STATUS_NOT_FOUND)\nCertUtil: The object was not found.\n", ""}},
		{"no file", []string{"-hashfile", file("none")}, result{-2147024894, strings.ReplaceAll(notThere, "%s", "hashfile"), ""}},
		{"encode", []string{"-encode", file("abc"), file("abc64")}, result{0, "Input Length = 3\nOutput Length = 62\nCertUtil: -encode command completed successfully.\n", ""}},
		{"there already", []string{"-encode", file("abc"), file("abc64")}, result{-2147024816, "CertUtil: -encode command FAILED: 0x80070050 (WIN32: 80 ERROR_FILE_EXISTS)\nCertUtil: The file exists.\n", ""}},
		{"decode", []string{"-f", "-decode", file("abc64"), file("abc")}, result{0, "Input Length = 62\nOutput Length = 3\nCertUtil: -decode command completed successfully.\n", ""}},
		{"decode bare", []string{"-decode", file("bare"), file("abc2")}, result{0, "Input Length = 7\nOutput Length = 3\nCertUtil: -decode command completed successfully.\n", ""}},
		{"decode nonsense", []string{"-decode", file("bad"), file("abc3")}, result{-2147024883, "CertUtil: -decode command FAILED: 0x8007000d (WIN32: 13 ERROR_INVALID_DATA)\nCertUtil: The data is invalid.\n", ""}},
		{"one word", []string{"-encode", file("abc")}, result{-2147024809, "CertUtil: -encode command FAILED: 0x80070057 (WIN32: 87 ERROR_INVALID_PARAMETER)\nCertUtil: The parameter is incorrect.\n", ""}},
		{"other", []string{"-urlcache", "-f", "x"}, result{1, "", "CertUtil: -urlcache is not part of Mullion's certutil, which has -addstore, -decode, -encode and -hashfile.\n"}},
		{"no certificate", []string{"-addstore", "Root", file("abc")}, result{-2146885630, "CertUtil: -addstore command FAILED: 0x80092002 (-2146885630 CRYPT_E_BAD_ENCODE)\nCertUtil: An error occurred during encode or decode operation.\n", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, run(t, &fake{}, "", append([]string{"certutil"}, tt.args...)...), cmp.AllowUnexported(result{})); diff != "" {
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
	write(t, dir, map[string]string{"der": string(der), "pem": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))})
	w := &fake{}
	const head, tail = "Root \"Trusted Root Certification Authorities\"\nSignature matches Public Key\n", "CertUtil: -addstore command completed successfully.\n"
	got := run(t, w, "", "certutil", "-f", "-addstore", "Root", filepath.Join(dir, "pem"))
	if diff := cmp.Diff(result{0, head + "Certificate \"Test CA\" added to store.\n" + tail, ""}, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Error(diff)
	}
	got = run(t, w, "", "certutil", "-addstore", "Root", filepath.Join(dir, "der"))
	if !strings.Contains(got.out, `Certificate "Test CA" already in store.`) {
		t.Errorf("%+v", got)
	}
	if got := run(t, w, "", "certutil", "-user", "-addstore", "My", filepath.Join(dir, "der")); got.code != 0 {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff(map[string]string{"Root true": string(der), "My false": string(der)}, w.stores); diff != "" {
		t.Error(diff)
	}
	w.err = os.ErrPermission
	if got := run(t, w, "", "certutil", "-addstore", "Root", filepath.Join(dir, "der")); got.code != -2147024891 {
		t.Errorf("%+v", got)
	}
}

func TestGetmac(t *testing.T) {
	w := &fake{adapters: []Adapter{
		{Name: "Ethernet", Description: "An Adapter", Up: true, Hardware: net.HardwareAddr{0, 0x15, 0x5d, 1, 2, 0xab}}, {Loopback: true},
	}}
	for args, want := range map[string]string{
		"":            "\nPhysical Address    Transport Name\n=================== ==========================================================\n00-15-5D-01-02-AB   \\Device\\Tcpip_Ethernet\n",
		"/nh /fo csv": "\"00-15-5D-01-02-AB\",\"\\Device\\Tcpip_Ethernet\"\n",
		"/v /fo list": "\nConnection Name: Ethernet\nNetwork Adapter: An Adapter\nPhysical Address: 00-15-5D-01-02-AB\nTransport Name: \\Device\\Tcpip_Ethernet\n",
	} {
		got := run(t, w, "", append([]string{"getmac"}, strings.Fields(args)...)...)
		if diff := cmp.Diff(result{0, want, ""}, got, cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("%s: %s", args, diff)
		}
	}
	if got := run(t, w, "", "getmac", "/s", "other"); got.code != 1 || !strings.HasPrefix(got.err, "ERROR: Invalid argument/option - '/s'.") {
		t.Errorf("%+v", got)
	}
}
