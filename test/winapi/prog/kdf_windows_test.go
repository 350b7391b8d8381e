package prog

import (
	"bytes"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Answers of bcrypt.dll (ntstatus.h), and numbers of bcrypt.h.
const (
	statusInvalidHandle    = 0xc0000008
	statusInvalidParameter = 0xc000000d

	pbkdf2Handle  = 0x331
	counterHandle = 0x341
	hkdfHandle    = 0x391

	kdfHash       = 0
	kdfPrepend    = 1
	kdfAppend     = 2
	kdfHMACKey    = 3
	kdfLabel      = 0xd
	kdfContext    = 0xe
	kdfSalt       = 0xf
	kdfIterations = 0x10
	kdfHKDFInfo   = 0x14
)

// bcryptBuffer is BCryptBuffer, parameters BCryptBufferDesc.
type (
	bcryptBuffer struct {
		size, kind uint32
		data       unsafe.Pointer
	}
	parameters struct {
		version, count uint32
		buffers        *bcryptBuffer
	}
)

// add appends a parameter of bytes, or of text.
func (p *parameters) add(kind uint32, value any) *parameters {
	buffer := bcryptBuffer{kind: kind}
	switch value := value.(type) {
	case string:
		buffer.size, buffer.data = uint32(2*len(value)+2), unsafe.Pointer(text(value))
	case []byte:
		buffer.size, buffer.data = uint32(len(value)), unsafe.Pointer(unsafe.SliceData(value))
	}
	all := append(bytesOf(p.buffers, p.count), buffer)
	p.buffers, p.count = &all[0], uint32(len(all))
	return p
}

func bytesOf(first *bcryptBuffer, count uint32) []bcryptBuffer {
	return append([]bcryptBuffer(nil), unsafe.Slice(first, count)...)
}

func (p *parameters) iterations(n uint64) *parameters {
	return p.add(kdfIterations, binary.LittleEndian.AppendUint64(nil, n))
}

func bcrypt(name string, args ...any) uint32 { return uint32(call("bcrypt.dll", name, args...)) }

func bytesFromHex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// derivingKey makes a key to derive from by the number of an algorithm, as .NET does, or by its name.
func derivingKey(t *testing.T, algorithm uintptr, name string, secret []byte) uintptr {
	t.Helper()
	if name != "" {
		must(t, "BCryptOpenAlgorithmProvider("+name+")", bcrypt("BCryptOpenAlgorithmProvider", &algorithm, name, nil, 0))
		t.Cleanup(func() {
			wantStatus(t, "BCryptCloseAlgorithmProvider", bcrypt("BCryptCloseAlgorithmProvider", algorithm, 0), 0)
		})
	}

	var key uintptr
	must(t, "BCryptGenerateSymmetricKey", bcrypt("BCryptGenerateSymmetricKey", algorithm, &key, nil, 0, secret,
		len(secret), 0))
	t.Cleanup(func() {
		wantStatus(t, "BCryptDestroyKey", bcrypt("BCryptDestroyKey", key), 0)
		wantStatus(t, "BCryptDestroyKey once more", bcrypt("BCryptDestroyKey", key), statusInvalidHandle)
	})

	return key
}

func keyDerivation(key uintptr, with *parameters, out []byte) (uint32, uint32) {
	var size uint32
	status := bcrypt("BCryptKeyDerivation", key, with, out, len(out), &size, 0)
	runtime.KeepAlive(with)
	return size, status
}

// TestPBKDF2 has the vectors of RFC 6070 and RFC 7914, 11; each by number and by name.
func TestPBKDF2(t *testing.T) {
	for _, test := range []struct {
		hash, password, salt string
		iterations           uint64
		want                 string
	}{
		{"SHA1", "password", "salt", 1, "0c60c80f961f0e71f3a9b524af6012062fe037a6"},
		{"SHA1", "password", "salt", 2, "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957"},
		{"SHA1", "password", "salt", 4096, "4b007901b765489abead49d926f721d065a429c1"},
		{
			"SHA1", "passwordPASSWORDpassword", "saltSALTsaltSALTsaltSALTsaltSALTsalt", 4096,
			"3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038",
		},
		{"SHA1", "pass\x00word", "sa\x00lt", 4096, "56fa6aa75548099dcc37d7f03425e0c3"},
		{
			"SHA256", "passwd", "salt", 1, "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc" +
				"49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783",
		},
	} {
		want := bytesFromHex(t, test.want)
		for name, number := range map[string]uintptr{"PBKDF2": 0, "": pbkdf2Handle} {
			key := derivingKey(t, number, name, []byte(test.password))
			with := new(parameters).iterations(test.iterations).add(kdfSalt, []byte(test.salt)).add(kdfHash, test.hash)
			got := make([]byte, len(want))
			size, status := keyDerivation(key, with, got)
			if status != 0 || size != uint32(len(want)) || !bytes.Equal(got, want) {
				t.Errorf("%q, %q: got %x (%d), %#x, want %x", test.password, test.salt, got, size, status, want)
			}
		}
	}

	for name, hash := range map[string]func() hash.Hash{"SHA384": sha512.New384, "SHA512": sha512.New} {
		want, err := pbkdf2.Key(hash, "", []byte("salt"), 3, 100)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		// .NET gives one byte and says that there is none, if a password is empty.
		with := new(parameters).iterations(3).add(kdfSalt, []byte("salt")).add(kdfHash, name)
		if _, status := keyDerivation(derivingKey(t, pbkdf2Handle, "", []byte{}), with, got); status != 0 ||
			!bytes.Equal(got, want) {
			t.Errorf("%s: got %x, %#x, want %x", name, got, status, want)
		}
	}
}

// TestHKDF has the first three vectors of RFC 5869.
func TestHKDF(t *testing.T) {
	long := func(from int) (b []byte) {
		for i := range 80 {
			b = append(b, byte(from+i))
		}
		return b
	}

	for _, test := range []struct{ secret, salt, info, want []byte }{
		{
			bytes.Repeat([]byte{0xb}, 22), bytesFromHex(t, "000102030405060708090a0b0c"),
			bytesFromHex(t, "f0f1f2f3f4f5f6f7f8f9"),
			bytesFromHex(t, "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"),
		},
		{
			long(0), long(0x60), long(0xb0),
			bytesFromHex(t, "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"+
				"59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"),
		},
		{
			bytes.Repeat([]byte{0xb}, 22), nil, nil,
			bytesFromHex(t, "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"),
		},
	} {
		for name, number := range map[string]uintptr{"HKDF": 0, "": hkdfHandle} {
			key := derivingKey(t, number, name, test.secret)
			got := make([]byte, len(test.want))
			_, status := keyDerivation(key, nil, got)
			wantStatus(t, "derive before a hash is set", status, statusInvalidParameter)
			must(t, "HkdfHashAlgorithm", bcrypt("BCryptSetProperty", key, "HkdfHashAlgorithm", "SHA256", 14, 0))
			must(t, "HkdfSaltAndFinalize", bcrypt("BCryptSetProperty", key, "HkdfSaltAndFinalize", test.salt,
				len(test.salt), 0))
			if _, status := keyDerivation(key, new(parameters).add(kdfHKDFInfo, test.info), got); status != 0 ||
				!bytes.Equal(got, test.want) {
				t.Errorf("got %x, %#x, want %x", got, status, test.want)
			}

			_, status = keyDerivation(key, nil, make([]byte, 255*32+1))
			wantStatus(t, "derive more than there is", status, statusInvalidParameter)
		}
	}
}

// TestCounterKDF compares with the counter mode of SP 800-108 as it is written down.
func TestCounterKDF(t *testing.T) {
	secret, label, context := []byte("secret"), []byte("label"), []byte("context")
	var want []byte
	for i := byte(1); len(want) < 100; i++ {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte{0, 0, 0, i})
		mac.Write(label)
		mac.Write([]byte{0})
		mac.Write(context)
		mac.Write([]byte{0, 0, 800 >> 8, 800 & 0xff})
		want = mac.Sum(want)
	}

	got := make([]byte, 100)
	with := new(parameters).add(kdfLabel, label).add(kdfContext, context).add(kdfHash, "SHA256")
	if _, status := keyDerivation(derivingKey(t, counterHandle, "", secret), with, got); status != 0 ||
		!bytes.Equal(got, want[:100]) {
		t.Errorf("got %x, %#x, want %x", got, status, want[:100])
	}
}

func TestKeyDerivationOfNothing(t *testing.T) {
	key := derivingKey(t, pbkdf2Handle, "", []byte("password"))
	out := make([]byte, 16)
	salted := func() *parameters { return new(parameters).add(kdfSalt, []byte("salt")) }
	for what, with := range map[string]*parameters{
		"no parameters":       nil,
		"no hash":             salted().iterations(1),
		"an unknown hash":     salted().iterations(1).add(kdfHash, "ROT13"),
		"no iterations":       salted().iterations(0).add(kdfHash, "SHA256"),
		"half a number":       salted().add(kdfIterations, []byte{1}).add(kdfHash, "SHA256"),
		"a hash without end":  salted().iterations(1).add(kdfHash, []byte("S\x00H\x00A\x001\x00")),
		"two hashes":          salted().iterations(1).add(kdfHash, "SHA1").add(kdfHash, "SHA256"),
		"buffers out of air":  {count: 3},
		"a salt out of air":   new(parameters).iterations(1).add(kdfHash, "SHA1").add(kdfSalt, []byte(nil)).grow(),
		"a hash that is none": salted().iterations(1).add(kdfHash, []byte{}),
	} {
		if _, status := keyDerivation(key, with, out); status != statusInvalidParameter {
			t.Errorf("%s: %#x", what, status)
		}
	}

	with := salted().iterations(1).add(kdfHash, "SHA256")
	_, status := keyDerivation(key, with, nil)
	wantStatus(t, "no output", status, statusInvalidParameter)
	wantStatus(t, "no result", bcrypt("BCryptKeyDerivation", key, with, out, len(out), nil, 0), statusInvalidParameter)
	for _, handle := range []uintptr{0, 1, pbkdf2Handle, uintptr(windows.CurrentProcess())} {
		_, status := keyDerivation(handle, with, out)
		wantStatus(t, "another handle", status, statusInvalidHandle)
	}

	if status := bcrypt("BCryptGenerateSymmetricKey", 0x3f1, &key, nil, 0, out, len(out), 0); status == 0 {
		t.Error("a key of an algorithm that there is not")
	}
	var algorithm uintptr
	if status := bcrypt("BCryptOpenAlgorithmProvider", &algorithm, "PBKDF9", nil, 0); status == 0 {
		t.Error("an algorithm that there is not")
	}
}

// grow says of the last parameter that it is longer than it is.
func (p *parameters) grow() *parameters {
	unsafe.Slice(p.buffers, p.count)[p.count-1].size = 4
	return p
}

// TestOAEPOfBCrypt encrypts with keys of bcrypt.dll itself, as .NET 7 and later do.
func TestOAEPOfBCrypt(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	var algorithm, key uintptr
	must(t, "BCryptOpenAlgorithmProvider", bcrypt("BCryptOpenAlgorithmProvider", &algorithm, "RSA", nil, 0))
	defer bcrypt("BCryptCloseAlgorithmProvider", algorithm, 0)

	blob := rsaBlob(private, true)
	must(t, "BCryptImportKeyPair", bcrypt("BCryptImportKeyPair", algorithm, nil, "RSAFULLPRIVATEBLOB", &key, blob,
		len(blob), 0))
	defer bcrypt("BCryptDestroyKey", key)

	padding := oaepPadding{algorithm: text("SHA1")}
	message := []byte("hello")
	sealed, clear := make([]byte, 256), make([]byte, 256)
	var size uint32
	must(t, "BCryptEncrypt: size", bcrypt("BCryptEncrypt", key, message, len(message), &padding, nil, 0, nil, 0, &size,
		padOAEP))
	must(t, "BCryptEncrypt", bcrypt("BCryptEncrypt", key, message, len(message), &padding, nil, 0, sealed, len(sealed),
		&size, padOAEP))
	if got, err := rsa.DecryptOAEP(sha1.New(), nil, private, sealed[:size], nil); err != nil || string(got) != "hello" {
		t.Errorf("Go decrypts %q, %v", got, err)
	}

	must(t, "BCryptDecrypt", bcrypt("BCryptDecrypt", key, sealed, len(sealed), &padding, nil, 0, clear, len(clear), &size,
		padOAEP))
	if string(clear[:size]) != "hello" {
		t.Errorf("decrypted: %q", clear[:size])
	}

	wantStatus(t, "decrypt a changed message", bcrypt("BCryptDecrypt", key, tampered(sealed), len(sealed), &padding, nil,
		0, clear, len(clear), &size, padOAEP), statusInvalidParameter)
	must(t, "BCryptEncrypt(PKCS #1)", bcrypt("BCryptEncrypt", key, message, len(message), nil, nil, 0, sealed, len(sealed),
		&size, padPKCS1))
	if got, err := rsa.DecryptPKCS1v15(nil, private, sealed); err != nil || string(got) != "hello" {
		t.Errorf("Go decrypts %q, %v", got, err)
	}
}
