package prog

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Flags and numbers of wincrypt.h.
const (
	exportable      = 1
	noPersistKey    = 0x8000
	alwaysCNG       = 0x200
	preferNCrypt    = 0x20000
	onlyNCrypt      = 0x40000
	keyProvInfo     = 2
	keyContext      = 5
	ncryptKeyHandle = 78
	ncryptKeySpec   = 0xffffffff
	invalidPassword = 86
	noKeyProperty   = 0x8009200b
)

// imported is a certificate of a PFX file.
type imported struct {
	context     *windows.CertContext
	certificate *x509.Certificate
}

func importPFX(t *testing.T, file []byte, password string, flags uint32) ([]imported, error) {
	t.Helper()
	blob := windows.CryptDataBlob{Size: uint32(len(file)), Data: unsafe.SliceData(file)}
	var with *uint16
	if password != "(none)" {
		with = text(password)
	}

	store, err := windows.PFXImportCertStore(&blob, with, flags)
	if err != nil {
		return nil, err
	}

	var list []imported
	for context, err := windows.CertEnumCertificatesInStore(store, nil); err == nil; {
		certificate, bad := x509.ParseCertificate(bytes.Clone(unsafe.Slice(context.EncodedCert, context.Length)))
		if bad != nil {
			t.Fatal(bad)
		}
		list = append(list, imported{windows.CertDuplicateCertificateContext(context), certificate})
		context, err = windows.CertEnumCertificatesInStore(store, context)
	}

	if err := windows.CertCloseStore(store, 0); err != nil {
		t.Errorf("CertCloseStore: %v", err)
	}
	t.Cleanup(func() {
		for _, i := range list {
			_ = windows.CertFreeCertificateContext(i.context)
		}
	})

	return list, nil
}

func readPFX(t *testing.T, name string) []byte {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(`C:\pfx`, name+".pfx"))
	if os.IsNotExist(err) {
		t.Skip("there are no PFX files: openssl is not installed")
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// privateKey acquires a key as .NET does.
func privateKey(t *testing.T, i imported, flags uint32) (key uintptr, err error) {
	t.Helper()
	var handle windows.Handle
	var spec uint32
	var free bool
	err = windows.CryptAcquireCertificatePrivateKey(i.context, flags, nil, &handle, &spec, &free)
	if err != nil {
		return 0, err
	}

	if spec != ncryptKeySpec || call("ncrypt.dll", "NCryptIsKeyHandle", uintptr(handle)) == 0 {
		t.Errorf("%#x with spec %#x is no key of CNG", handle, spec)
	}
	if free {
		freeKey(t, uintptr(handle))
	}
	return uintptr(handle), nil
}

func hasProperty(i imported, property uint32) bool {
	var size uint32
	return call("crypt32.dll", "CertGetCertificateContextProperty", i.context, property, nil, &size) != 0
}

func TestPFX(t *testing.T) {
	files, err := filepath.Glob(`C:\pfx\*.sig`)
	if err != nil || len(files) > 0 {
		t.Fatalf("signatures of another run: %v, %v", files, err)
	}
	readPFX(t, "rsa")
	if files, err = filepath.Glob(`C:\pfx\*.key`); err != nil {
		t.Fatal(err)
	}

	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".key")
		if name == "another" {
			continue
		}
		t.Run(name, func(t *testing.T) { checkOnePFX(t, name) })
	}
}

func checkOnePFX(t *testing.T, name string) {
	t.Helper()
	pfx := readPFX(t, name)
	for _, flags := range []uint32{0, exportable, noPersistKey | alwaysCNG, exportable | noPersistKey | 0x10} {
		list, err := importPFX(t, pfx, "secret", flags)
		if err != nil {
			t.Fatalf("PFXImportCertStore(%#x): %v", flags, err)
		}
		if len(list) != 2 {
			t.Fatalf("%d certificates, want 2", len(list))
		}

		for _, i := range list {
			if i.certificate.Subject.CommonName == name {
				checkOwnKey(t, name, i, flags)
				continue
			}
			if hasProperty(i, keyProvInfo) || hasProperty(i, keyContext) {
				t.Error("the other certificate is said to have a key")
			}

			if _, err := privateKey(t, i, onlyNCrypt); err == nil {
				t.Error("the other certificate has a key")
			}
		}
	}

	for _, password := range []string{"", "(none)", "Secret", strings.Repeat("secret", 1000)} {
		if name == "p384-open" || name == "p256-nomac" {
			break // what is not encrypted needs none, or nothing tells which is wrong
		}
		if _, err := importPFX(t, pfx, password, 0); err != windows.Errno(invalidPassword) {
			t.Errorf("with the password %.10q: %v", password, err)
		}
	}

	for length := 0; length < len(pfx); length += 1 + len(pfx)/200 {
		if _, err := importPFX(t, bytes.Clone(pfx[:length]), "secret", 0); err == nil {
			t.Errorf("%d of %d bytes are a PFX file", length, len(pfx))
		}
	}
}

func checkOwnKey(t *testing.T, name string, i imported, flags uint32) {
	t.Helper()
	if !hasProperty(i, keyProvInfo) && !hasProperty(i, keyContext) {
		t.Error("the certificate is not said to have a key")
	}
	key, err := privateKey(t, i, onlyNCrypt)
	if err != nil {
		t.Fatalf("acquire the key: %v", err)
	}

	if again, err := privateKey(t, i, preferNCrypt); err != nil || again == 0 {
		t.Errorf("prefer a key of CNG: %v", err)
	}
	hash := sha256.Sum256([]byte("signed on Windows"))
	var padding unsafe.Pointer
	var padded uintptr
	if i.certificate.PublicKeyAlgorithm == x509.RSA {
		padding, padded = unsafe.Pointer(&pssPadding{text("SHA256"), 32}), padPSS
	}

	signature, status := sign(key, padding, hash[:], padded)
	must(t, "NCryptSignHash", status)
	if err := os.WriteFile(filepath.Join(`C:\pfx`, name+".sig"), signature, 0o600); err != nil {
		t.Fatal(err)
	}

	der, status := exportKey(key, "PKCS8_PRIVATEKEY")
	if flags&exportable == 0 {
		wantStatus(t, "export a key that may not be", status, nteNotSupported)
		return
	}

	must(t, "NCryptExportKey", status)
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		t.Fatal(err)
	}

	switch private := parsed.(type) {
	case *rsa.PrivateKey:
		if !private.PublicKey.Equal(i.certificate.PublicKey) {
			t.Error("another key")
		}
	case *ecdsa.PrivateKey:
		if !private.PublicKey.Equal(i.certificate.PublicKey) {
			t.Error("another key")
		}
	}
}

// TestPFXOfTwo imports two files at once: each certificate keeps its own key.
func TestPFXOfTwo(t *testing.T) {
	var lists [2][]imported
	for n, name := range []string{"rsa", "rsa-3des"} {
		list, err := importPFX(t, readPFX(t, name), "secret", exportable)
		if err != nil {
			t.Fatal(err)
		}
		lists[n] = list
	}

	for n, name := range []string{"rsa", "rsa-3des"} {
		for _, i := range lists[n] {
			if i.certificate.Subject.CommonName == name {
				checkOwnKey(t, name, i, exportable)
			}
		}
	}
}

func TestPFXWithLess(t *testing.T) {
	for _, password := range []string{"", "(none)"} {
		list, err := importPFX(t, readPFX(t, "no-password"), password, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 1 {
			t.Fatalf("%d certificates", len(list))
		}

		if _, err := privateKey(t, list[0], onlyNCrypt); err != nil {
			t.Errorf("without a password: %v", err)
		}
	}

	list, err := importPFX(t, readPFX(t, "no-key"), "secret", 0)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d certificates, %v", len(list), err)
	}
	if _, err := privateKey(t, list[0], onlyNCrypt); err != windows.Errno(noKeyProperty) {
		t.Errorf("a certificate without a key: %v", err)
	}

	if hasProperty(list[0], keyProvInfo) {
		t.Error("it is said to have a key")
	}
	for _, garbage := range [][]byte{nil, {0x30}, []byte("hello"), bytes.Repeat([]byte{0x30, 0x80}, 1000)} {
		if _, err := importPFX(t, garbage, "secret", 0); err == nil {
			t.Errorf("% .20x is a PFX file", garbage)
		}
	}
}

// TestKeyOfCertificate gives a certificate a key of CNG, as .NET does with one that it has made itself.
func TestKeyOfCertificate(t *testing.T) {
	list, err := importPFX(t, readPFX(t, "no-key"), "secret", 0)
	if err != nil || len(list) != 1 {
		t.Fatal(err)
	}
	context := list[0].context
	if hasProperty(list[0], ncryptKeyHandle) {
		t.Error("there is a key already")
	}

	if call("crypt32.dll", "CertSetCertificateContextProperty", context, ncryptKeyHandle, 0, uintptr(1234)) != 0 {
		t.Error("a key that is none is taken")
	}
	var key uintptr // the certificate's, which nobody else frees
	must(t, "create", ncrypt("NCryptCreatePersistedKey", ncryptProvider(t), &key, "ECDSA_P256", nil, 0, 0))
	must(t, "finalize", ncrypt("NCryptFinalizeKey", key, 0))
	if call("crypt32.dll", "CertSetCertificateContextProperty", context, ncryptKeyHandle, 0, key) == 0 {
		t.Fatal("CertSetCertificateContextProperty")
	}

	var got uintptr
	size := uint32(unsafe.Sizeof(got))
	if call("crypt32.dll", "CertGetCertificateContextProperty", context, ncryptKeyHandle, &got, &size) == 0 || got != key {
		t.Errorf("the key: %#x, want %#x", got, key)
	}
	if acquired, err := privateKey(t, list[0], onlyNCrypt); err != nil || acquired != key {
		t.Errorf("the key: %#x, %v, want %#x", acquired, err, key)
	}

	if !hasProperty(list[0], keyContext) {
		t.Error("the certificate is not said to have a key")
	}
	var handle windows.Handle
	var spec uint32
	var free bool
	if err := windows.CryptAcquireCertificatePrivateKey(context, 0, nil, &handle, &spec, &free); err == nil {
		t.Errorf("a key of CNG is given to who wants one of CAPI: %#x", handle)
	}

	call("crypt32.dll", "CertSetCertificateContextProperty", context, ncryptKeyHandle, 0, nil)
	if hasProperty(list[0], ncryptKeyHandle) || hasProperty(list[0], keyContext) {
		t.Error("the key is there still")
	}
	wantStatus(t, "free the key", ncrypt("NCryptFreeObject", key), 0)
}
