package prog

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/binary"
	"math/big"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

// rsaBlob is BCRYPT_RSAKEY_BLOB with what follows it.
func rsaBlob(key *rsa.PrivateKey, full bool) []byte {
	bytes := key.Size()
	field := func(n *big.Int, size int) []byte { return n.FillBytes(make([]byte, size)) }
	magic, prime := "RSA1", 0
	if full {
		magic, prime = "RSA3", bytes/2
	}

	b := []byte(magic)
	for _, n := range []int{key.N.BitLen(), 3, bytes, prime, prime} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}

	b = append(append(b, field(big.NewInt(int64(key.E)), 3)...), field(key.N, bytes)...)
	if !full {
		return b
	}
	for _, n := range []*big.Int{
		key.Primes[0], key.Primes[1], key.Precomputed.Dp, key.Precomputed.Dq, key.Precomputed.Qinv,
	} {
		b = append(b, field(n, prime)...)
	}

	return append(b, field(key.D, bytes)...)
}

// eccBlob is BCRYPT_ECCKEY_BLOB of a private key with what follows it.
func eccBlob(t *testing.T, magic string, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	size := (key.Curve.Params().BitSize + 7) / 8
	private, err := key.ECDH()
	if err != nil {
		t.Fatal(err)
	}
	b := binary.LittleEndian.AppendUint32([]byte(magic), uint32(size))
	return append(append(b, private.PublicKey().Bytes()[1:]...), private.Bytes()...)
}

// TestImportOfHalves imports each beginning of each kind of blob, and blobs whose sizes lie: none is a key, and none
// ends the program.
func TestImportOfHalves(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	rsaDER, _ := x509.MarshalPKCS8PrivateKey(private)
	ecDER, _ := x509.MarshalPKCS8PrivateKey(ec)
	for _, test := range []struct {
		format string
		blob   []byte
	}{
		{"RSAFULLPRIVATEBLOB", rsaBlob(private, true)},
		{"RSAPUBLICBLOB", rsaBlob(private, false)},
		{"ECCPRIVATEBLOB", eccBlob(t, "ECS2", ec)},
		{"PKCS8_PRIVATEKEY", rsaDER},
		{"PKCS8_PRIVATEKEY", ecDER},
	} {
		format, blob := test.format, test.blob
		key, status := importKey(t, format, blob)
		must(t, format, status)
		wantStatus(t, "free", ncrypt("NCryptFreeObject", key), 0)
		for length := range blob {
			half := slices.Clone(blob[:length])
			if key, status := importKey(t, format, half); status == 0 {
				t.Errorf("%s: %d of %d bytes are a key", format, length, len(blob))
				ncrypt("NCryptFreeObject", key)
			}
		}

		// Each byte of the headers, and each of DER, at its largest and at 0.
		for at := range min(len(blob), 300) {
			for _, value := range []byte{0, 0xff, blob[at] ^ 0x80} {
				changed := slices.Clone(blob)
				changed[at] = value
				if key, status := importKey(t, format, changed); status == 0 {
					ncrypt("NCryptFreeObject", key)
				}
			}
		}
	}
}

// TestKeysThatDoNotFit imports private keys with the public part of others.
func TestKeysThatDoNotFit(t *testing.T) {
	for magic, curve := range map[string]elliptic.Curve{"ECS2": elliptic.P256(), "ECS4": elliptic.P384()} {
		one, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		other, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}

		blob := eccBlob(t, magic, one)
		size := (curve.Params().BitSize + 7) / 8
		copy(blob[8:8+2*size], eccBlob(t, magic, other)[8:])
		_, status := importKey(t, "ECCPRIVATEBLOB", blob)
		wantStatus(t, "another's public part", status, nteBadData)
		clear(blob[8+2*size:])
		_, status = importKey(t, "ECCPRIVATEBLOB", blob)
		wantStatus(t, "a private part of 0", status, nteBadData)
	}
}

// TestWrongHandles gives what is no handle of ncrypt.dll, or one of another kind, to each function.
func TestWrongHandles(t *testing.T) {
	provider, key := ncryptProvider(t), newKey(t, "ECDSA_P256", 0)
	var capi windows.Handle
	err := windows.CryptAcquireContext(&capi, nil, nil, windows.PROV_RSA_AES, windows.CRYPT_VERIFYCONTEXT)
	if err != nil {
		t.Fatal(err)
	}
	defer windows.CryptReleaseContext(capi, 0)

	b, out, size := make([]byte, 32), uintptr(0), uint32(0)
	padding := pkcs1Padding{text("SHA256")}
	for _, handle := range []uintptr{0, 1, 0x331, ^uintptr(0), uintptr(capi), uintptr(unsafe.Pointer(&b[0])), key + 8} {
		for what, status := range map[string]uint32{
			"get a property": ncrypt("NCryptGetProperty", handle, "Length", b, len(b), &size, 0),
			"set a property": ncrypt("NCryptSetProperty", handle, "Length", b, 4, 0),
			"finalize":       ncrypt("NCryptFinalizeKey", handle, 0),
			"free":           ncrypt("NCryptFreeObject", handle),
			"delete":         ncrypt("NCryptDeleteKey", handle, 0),
			"sign":           ncrypt("NCryptSignHash", handle, &padding, b, len(b), b, len(b), &size, padPKCS1),
			"verify":         ncrypt("NCryptVerifySignature", handle, &padding, b, len(b), b, len(b), padPKCS1),
			"encrypt":        ncrypt("NCryptEncrypt", handle, b, len(b), nil, b, len(b), &size, padPKCS1),
			"decrypt":        ncrypt("NCryptDecrypt", handle, b, len(b), nil, b, len(b), &size, padPKCS1),
			"export":         ncrypt("NCryptExportKey", handle, nil, "ECCPUBLICBLOB", nil, b, len(b), &size, 0),
			"agree":          ncrypt("NCryptSecretAgreement", handle, key, &out, 0),
			"agree with it":  ncrypt("NCryptSecretAgreement", key, handle, &out, 0),
			"derive":         ncrypt("NCryptDeriveKey", handle, "HASH", nil, b, len(b), &size, 0),
			"create a key":   ncrypt("NCryptCreatePersistedKey", handle, &out, "RSA", nil, 0, 0),
			"import":         ncrypt("NCryptImportKey", handle, nil, "ECCPUBLICBLOB", nil, &out, b, len(b), 0),
			"open a key":     ncrypt("NCryptOpenKey", handle, &out, "name", 0, 0),
			"algorithms":     ncrypt("NCryptIsAlgSupported", handle, "RSA", 0),
		} {
			if status != nteInvalidHandle {
				t.Errorf("%s of %#x: %#x", what, handle, status)
			}
		}

		if call("ncrypt.dll", "NCryptIsKeyHandle", handle) != 0 {
			t.Errorf("%#x is said to be a key", handle)
		}
	}

	wantStatus(t, "finalize a provider", ncrypt("NCryptFinalizeKey", provider, 0), nteInvalidHandle)
	wantStatus(t, "a key as a provider", ncrypt("NCryptIsAlgSupported", key, "RSA", 0), nteInvalidHandle)
	if call("ncrypt.dll", "NCryptIsKeyHandle", key) == 0 {
		t.Error("a key is said to be none")
	}
}

// TestNulls leaves out what functions need.
func TestNulls(t *testing.T) {
	provider, key := ncryptProvider(t), newKey(t, "ECDSA_P256", 0)
	b, out, size := make([]byte, 32), uintptr(0), uint32(0)
	for what, status := range map[string]uint32{
		"open":              ncrypt("NCryptOpenStorageProvider", nil, nil, 0),
		"create":            ncrypt("NCryptCreatePersistedKey", provider, nil, "RSA", nil, 0, 0),
		"create nothing":    ncrypt("NCryptCreatePersistedKey", provider, &out, nil, nil, 0, 0),
		"import to nowhere": ncrypt("NCryptImportKey", provider, nil, "RSAPUBLICBLOB", nil, nil, b, len(b), 0),
		"import nothing":    ncrypt("NCryptImportKey", provider, nil, "RSAPUBLICBLOB", nil, &out, nil, len(b), 0),
		"import no type":    ncrypt("NCryptImportKey", provider, nil, nil, nil, &out, b, len(b), 0),
		"export no type":    ncrypt("NCryptExportKey", key, nil, nil, nil, b, len(b), &size, 0),
		"export no size":    ncrypt("NCryptExportKey", key, nil, "ECCPUBLICBLOB", nil, b, len(b), nil, 0),
		"get no name":       ncrypt("NCryptGetProperty", key, nil, b, len(b), &size, 0),
		"get no size":       ncrypt("NCryptGetProperty", key, "Length", b, len(b), nil, 0),
		"set no name":       ncrypt("NCryptSetProperty", key, nil, b, len(b), 0),
		"set no value":      ncrypt("NCryptSetProperty", key, "x", nil, 4, 0),
		"sign nothing":      ncrypt("NCryptSignHash", key, nil, nil, 32, b, len(b), &size, 0),
		"sign no size":      ncrypt("NCryptSignHash", key, nil, b, len(b), b, len(b), nil, 0),
		"verify nothing":    ncrypt("NCryptVerifySignature", key, nil, nil, 32, b, len(b), 0),
		"verify no sign":    ncrypt("NCryptVerifySignature", key, nil, b, len(b), nil, 64, 0),
		"agree to nothing":  ncrypt("NCryptSecretAgreement", key, key, nil, 0),
		"derive nothing":    ncrypt("NCryptDeriveKey", key, nil, nil, b, len(b), &size, 0),
	} {
		if status != nteInvalidParameter {
			t.Errorf("%s: %#x", what, status)
		}
	}

	var signature [64]byte
	wantStatus(t, "too little room", ncrypt("NCryptSignHash", key, nil, b, len(b), signature[:63], 63, &size, 0),
		nteBufferTooSmall)
	wantStatus(t, "too little room", ncrypt("NCryptExportKey", key, nil, "ECCPUBLICBLOB", nil, b, len(b), &size, 0),
		nteBufferTooSmall)
	_, status := exportKey(key, "RSAPUBLICBLOB")
	wantStatus(t, "another's blob", status, nteNotSupported)
}

// TestKeyProperties is about what .NET asks of keys, and what it sets.
func TestKeyProperties(t *testing.T) {
	provider := ncryptProvider(t)
	wantProperty(t, provider, "Name", "Microsoft Software Key Storage Provider")
	var key uintptr
	must(t, "create", ncrypt("NCryptCreatePersistedKey", provider, &key, "RSA", nil, 0, 0))
	freeKey(t, key)
	_, status := sign(key, unsafe.Pointer(&pkcs1Padding{text("SHA256")}), make([]byte, 32), padPKCS1)
	wantStatus(t, "sign with a key that is not made", status, nteBadKeyState)
	must(t, "Length", setNumber(key, "Length", 1024))
	must(t, "finalize", ncrypt("NCryptFinalizeKey", key, 0))
	for name, want := range map[string]any{
		"Length": uint32(1024), "Algorithm Name": "RSA", "Algorithm Group": "RSA", "Export Policy": uint32(0),
		"Key Usage": uint32(0xffffff), "Key Type": uint32(0), "Impl Type": uint32(2),
	} {
		wantProperty(t, key, name, want)
	}

	_, status = exportKey(key, "RSAPRIVATEBLOB")
	wantStatus(t, "export what may not be", status, nteNotSupported)
	if _, status = exportKey(key, "RSAPUBLICBLOB"); status != 0 {
		t.Errorf("export the public part: %#x", status)
	}

	wantStatus(t, "a length for a key that is made", setNumber(key, "Length", 2048), nteInvalidHandle)
	_, status = property(key, "CLR IsEphemeral")
	wantStatus(t, "a property that is not there", status, nteNotFound)
	must(t, "set it", ncrypt("NCryptSetProperty", key, "CLR IsEphemeral", []byte{1}, 1, uint32(0x40000000)))
	if value, status := property(key, "CLR IsEphemeral"); status != 0 || len(value) != 1 || value[0] != 1 {
		t.Errorf("CLR IsEphemeral: % x, %#x", value, status)
	}

	value, status := property(key, "Provider Handle")
	must(t, "Provider Handle", status)
	handle := uintptr(binary.LittleEndian.Uint64(value))
	wantProperty(t, handle, "Name", "Microsoft Software Key Storage Provider")
	wantStatus(t, "free the key's provider", ncrypt("NCryptFreeObject", handle), 0)
	var out uintptr
	wantRefusal(t, "a key with a name", ncrypt("NCryptCreatePersistedKey", provider, &out, "RSA", "name", 0, 0),
		nteNotSupported)
	wantStatus(t, "open a key", ncrypt("NCryptOpenKey", provider, &out, "name", 0, 0), nteBadKeyset)
	wantRefusal(t, "a smart card", ncrypt("NCryptOpenStorageProvider", &out,
		"Microsoft Smart Card Key Storage Provider", 0), nteKeysetNotDef)
	wantStatus(t, "an odd length", createWithLength(t, 1025), 0x80090004)
}

func createWithLength(t *testing.T, bits uint32) uint32 {
	t.Helper()
	var key uintptr
	must(t, "create", ncrypt("NCryptCreatePersistedKey", ncryptProvider(t), &key, "RSA", nil, 0, 0))
	defer ncrypt("NCryptFreeObject", key)
	return setNumber(key, "Length", bits)
}

// TestNamedCurve makes and imports keys as .NET does: of the algorithm ECDSA, with the curve beside it.
func TestNamedCurve(t *testing.T) {
	var key uintptr
	must(t, "create", ncrypt("NCryptCreatePersistedKey", ncryptProvider(t), &key, "ECDSA", nil, 0, 0))
	freeKey(t, key)
	wantStatus(t, "finalize without a curve", ncrypt("NCryptFinalizeKey", key, 0), nteInvalidParameter)
	must(t, "ECCCurveName", ncrypt("NCryptSetProperty", key, "ECCCurveName", "nistP384", 18, 0))
	must(t, "finalize", ncrypt("NCryptFinalizeKey", key, 0))
	wantProperty(t, key, "Algorithm Name", "ECDSA_P384")
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	for curve, want := range map[string]uint32{"nistP256": 0, "ECDSA_P256": 0, "nistP384": nteInvalidParameter} {
		for _, magic := range []string{"ECS2", "ECDV"} {
			blob := eccBlob(t, magic, ec)
			with := new(parameters).add(60, curve) // NCRYPTBUFFER_ECC_CURVE_NAME
			status := ncrypt("NCryptImportKey", ncryptProvider(t), nil, "ECCPRIVATEBLOB", with, &key, blob, len(blob), 0)
			if magic == "ECDV" && want != 0 {
				want = nteBadData
			}

			wantStatus(t, magic+" on "+curve, status, want)
			if status == 0 {
				hash := sha256.Sum256(nil)
				signature, status := sign(key, nil, hash[:], 0)
				must(t, "sign", status)
				if r, s := raw(signature); !ecdsa.Verify(&ec.PublicKey, hash[:], r, s) {
					t.Error("Go does not verify the signature")
				}
				ncrypt("NCryptFreeObject", key)
			}
		}
	}
}

// TestECDH agrees with Go's crypto/ecdh, where Wine agrees at all.
func TestECDH(t *testing.T) {
	for name, curve := range map[string]ecdh.Curve{"ECDH_P256": ecdh.P256(), "ECDH_P384": ecdh.P384()} {
		for _, algorithm := range []string{name, "ECDSA" + name[len("ECDH"):]} {
			t.Run(algorithm, func(t *testing.T) { checkAgreement(t, algorithm, curve) })
		}
	}
}

func checkAgreement(t *testing.T, algorithm string, curve ecdh.Curve) {
	t.Helper()
	key := newKey(t, algorithm, 0)
	private, err := curve.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	blob := mustExport(t, key, "ECCPUBLICBLOB")
	public, err := curve.NewPublicKey(append([]byte{4}, blob[8:]...))
	if err != nil {
		t.Fatal(err)
	}
	want, err := private.ECDH(public)
	if err != nil {
		t.Fatal(err)
	}

	other := mustImport(t, "ECCPUBLICBLOB", append(slices.Clone(blob[:8]), private.PublicKey().Bytes()[1:]...))
	var secret uintptr
	status := ncrypt("NCryptSecretAgreement", key, other, &secret, 0)
	if status == nteNotSupported {
		t.Skip("this Wine's bcrypt.dll agrees on no secrets")
	}

	must(t, "NCryptSecretAgreement", status)
	freeKey(t, secret)
	checkDerived(t, secret, want)
	wantStatus(t, "agree without a private key", ncrypt("NCryptSecretAgreement", other, key, &secret, 0), nteBadKeyState)
	third := newKey(t, map[bool]string{true: "ECDH_P384", false: "ECDH_P256"}[curve == ecdh.P256()], 0)
	wantStatus(t, "agree with a key on another curve", ncrypt("NCryptSecretAgreement", key, third, &secret, 0),
		nteInvalidParameter)
}

// checkDerived compares what is derived of a secret with what Go derives.
func checkDerived(t *testing.T, secret uintptr, agreed []byte) {
	t.Helper()
	reversed := slices.Clone(agreed)
	slices.Reverse(reversed)
	before, after, mac := []byte("before"), []byte("after"), []byte("key")
	together := slices.Concat(before, agreed, after)
	sum1, sum256, sum512 := sha1.Sum(agreed), sha256.Sum256(together), sha512.Sum512(together)
	keyed := hmac.New(sha256.New, mac)
	keyed.Write(together)
	selfKeyed := hmac.New(sha256.New, agreed)
	selfKeyed.Write(agreed)
	for _, test := range []struct {
		what, kdf string
		with      *parameters
		flags     uint32
		want      []byte
	}{
		{"the secret", "TRUNCATE", nil, 0, reversed},
		{"a hash of no name", "HASH", nil, 0, sum1[:]},
		{"a hash", "HASH", around(before, after).add(kdfHash, "SHA256"), 0, sum256[:]},
		{"a longer hash", "HASH", around(before, after).add(kdfHash, "SHA512"), 0, sum512[:]},
		{"a keyed hash", "HMAC", around(before, after).add(kdfHash, "SHA256").add(kdfHMACKey, mac), 0, keyed.Sum(nil)},
		{"a hash keyed with the secret", "HMAC", new(parameters).add(kdfHash, "SHA256"), 1, selfKeyed.Sum(nil)},
	} {
		var size uint32
		must(t, test.what, ncrypt("NCryptDeriveKey", secret, test.kdf, test.with, nil, 0, &size, test.flags))
		got := make([]byte, size)
		must(t, test.what, ncrypt("NCryptDeriveKey", secret, test.kdf, test.with, got, len(got), &size, test.flags))
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %x, want %x", test.what, got, test.want)
		}
	}

	want, err := hkdf.Key(sha256.New, agreed, nil, "", 50)
	if err != nil {
		t.Fatal(err)
	}

	got, size := make([]byte, 50), uint32(0)
	with := new(parameters).add(kdfHash, "SHA256")
	must(t, "HKDF", ncrypt("NCryptDeriveKey", secret, "HKDF", with, got, len(got), &size, 0))
	if !slices.Equal(got, want) {
		t.Errorf("HKDF: got %x, want %x", got, want)
	}
	wantStatus(t, "a function that there is not", ncrypt("NCryptDeriveKey", secret, "ROT13", nil, got, len(got), &size, 0),
		nteNotSupported)
}

func around(before, after []byte) *parameters {
	return new(parameters).add(kdfPrepend, before).add(kdfAppend, after)
}
