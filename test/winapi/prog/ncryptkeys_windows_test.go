package prog

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/asn1"
	"math/big"
	"testing"
	"unsafe"
)

// The padding structures of bcrypt.h.
type (
	pkcs1Padding struct{ algorithm *uint16 }
	pssPadding   struct {
		algorithm *uint16
		salt      uint32
	}
	oaepPadding struct {
		algorithm *uint16
		label     *byte
		labelSize uint32
	}
)

func curves(t *testing.T, family string) map[string]elliptic.Curve {
	t.Helper()
	found := map[string]elliptic.Curve{}
	for name, curve := range map[string]elliptic.Curve{
		"_P256": elliptic.P256(), "_P384": elliptic.P384(), "_P521": elliptic.P521(),
	} {
		switch status := ncrypt("NCryptIsAlgSupported", ncryptProvider(t), family+name, 0); {
		case status == 0:
			found[family+name] = curve
		case name != "_P521" || status != nteNotSupported:
			t.Errorf("NCryptIsAlgSupported(%s): %#x", family+name, status)
		}
	}
	return found
}

// raw makes r and s of a signature.
func raw(signature []byte) (r, s *big.Int) {
	half := len(signature) / 2
	return new(big.Int).SetBytes(signature[:half]), new(big.Int).SetBytes(signature[half:])
}

func TestECDSA(t *testing.T) {
	sum256, sum384, sum512, sum1 := sha256.Sum256(nil), sha512.Sum384(nil), sha512.Sum512(nil), sha1.Sum(nil)
	for name, curve := range curves(t, "ECDSA") {
		t.Run(name, func(t *testing.T) {
			key := newKey(t, name, 0)
			wantProperty(t, key, "Algorithm Name", name)
			wantProperty(t, key, "Algorithm Group", "ECDSA")
			wantProperty(t, key, "ECCCurveName", "nistP"+name[len("ECDSA_P"):])
			wantProperty(t, key, "Length", uint32(curve.Params().BitSize))
			der := mustExport(t, key, "PKCS8_PRIVATEKEY")
			parsed, err := x509.ParsePKCS8PrivateKey(der)
			if err != nil {
				t.Fatal(err)
			}

			private := parsed.(*ecdsa.PrivateKey)
			if private.Curve != curve {
				t.Errorf("curve: %v", private.Curve)
			}

			public := mustImport(t, "ECCPUBLICBLOB", mustExport(t, key, "ECCPUBLICBLOB"))
			again := mustImport(t, "ECCPRIVATEBLOB", mustExport(t, key, "ECCPRIVATEBLOB"))
			for _, hash := range [][]byte{sum256[:], sum384[:], sum512[:], sum1[:], {1}} {
				for _, signer := range []uintptr{key, again} {
					signature, status := sign(signer, nil, hash, 0)
					must(t, "NCryptSignHash", status)
					if r, s := raw(signature); !ecdsa.Verify(&private.PublicKey, hash, r, s) {
						t.Errorf("Go does not verify the signature of %d bytes", len(hash))
					}
					wantStatus(t, "verify", verify(public, nil, hash, signature, 0), 0)
					wantStatus(t, "verify with a private key", verify(key, nil, hash, signature, 0), 0)
					wantNoVerify(t, public, nil, hash, signature, 0)
				}
			}

			_, status := sign(public, nil, sum256[:], 0)
			wantStatus(t, "sign with a public key", status, nteBadKeyState)
			_, status = sign(key, nil, sum256[:], padPKCS1)
			wantStatus(t, "sign with a flag of RSA", status, nteBadFlags)
		})
	}
}

// TestECDSAOfGo imports keys that Go has made, and verifies what Go has signed.
func TestECDSAOfGo(t *testing.T) {
	for name, curve := range curves(t, "ECDSA") {
		t.Run(name, func(t *testing.T) {
			// Numbers with leading zeros are the ones that go wrong.
			for range 20 {
				private, err := ecdsa.GenerateKey(curve, rand.Reader)
				if err != nil {
					t.Fatal(err)
				}
				der, err := x509.MarshalPKCS8PrivateKey(private)
				if err != nil {
					t.Fatal(err)
				}

				key := mustImport(t, "PKCS8_PRIVATEKEY", der)
				must(t, "set Export Policy", setNumber(key, "Export Policy", allowPlaintextExport))
				if parsed, err := x509.ParsePKCS8PrivateKey(mustExport(t, key, "PKCS8_PRIVATEKEY")); err != nil ||
					!private.Equal(parsed) {
					t.Errorf("the key that comes back: %v, %v, want %v", parsed, err, private)
				}

				hash := sha256.Sum256(der)
				signed, err := ecdsa.SignASN1(rand.Reader, private, hash[:])
				if err != nil {
					t.Fatal(err)
				}
				var numbers struct{ R, S *big.Int }
				if _, err := asn1.Unmarshal(signed, &numbers); err != nil {
					t.Fatal(err)
				}

				size := (curve.Params().BitSize + 7) / 8
				signature := make([]byte, 2*size)
				numbers.R.FillBytes(signature[:size])
				numbers.S.FillBytes(signature[size:])
				wantStatus(t, "verify", verify(key, nil, hash[:], signature, 0), 0)
			}
		})
	}
}

func TestRSASignatures(t *testing.T) {
	key := newKey(t, "RSA", 2048)
	parsed, err := x509.ParsePKCS8PrivateKey(mustExport(t, key, "PKCS8_PRIVATEKEY"))
	if err != nil {
		t.Fatal(err)
	}

	public := &parsed.(*rsa.PrivateKey).PublicKey
	other := mustImport(t, "RSAPUBLICBLOB", mustExport(t, key, "RSAPUBLICBLOB"))
	hashes := map[string]crypto.Hash{
		"SHA1": crypto.SHA1, "SHA256": crypto.SHA256, "SHA384": crypto.SHA384, "SHA512": crypto.SHA512,
	}

	for range 2 { // a key takes either padding after the other
		for name, algorithm := range hashes {
			sum := algorithm.New().Sum(nil)
			pkcs1 := pkcs1Padding{text(name)}
			signature, status := sign(key, unsafe.Pointer(&pkcs1), sum, padPKCS1)
			must(t, "NCryptSignHash(PKCS #1, "+name+")", status)
			if err := rsa.VerifyPKCS1v15(public, algorithm, sum, signature); err != nil {
				t.Error(name, err)
			}
			wantStatus(t, "verify "+name, verify(other, unsafe.Pointer(&pkcs1), sum, signature, padPKCS1), 0)
			wantNoVerify(t, other, unsafe.Pointer(&pkcs1), sum, signature, padPKCS1)

			checkPSS(t, key, other, name, algorithm, public)
			_, status = sign(key, unsafe.Pointer(&pkcs1), sum[1:], padPKCS1)
			wantStatus(t, "sign a hash of another length", status, nteInvalidParameter)
		}
	}

	sum := sha256.Sum256(nil)
	_, status := sign(key, nil, sum[:], padPKCS1)
	wantStatus(t, "sign without a padding", status, nteInvalidParameter)
	_, status = sign(key, nil, sum[:], 0)
	wantStatus(t, "sign without a flag", status, nteBadFlags)
	_, status = sign(key, unsafe.Pointer(&pkcs1Padding{text("ROT13")}), sum[:], padPKCS1)
	wantStatus(t, "sign with a hash that nobody knows", status, nteNotSupported)
}

// checkPSS has salts as long as the hash, which is what programs take; others are refused.
func checkPSS(t *testing.T, key, other uintptr, name string, algorithm crypto.Hash, public *rsa.PublicKey) {
	t.Helper()
	sum := algorithm.New().Sum(nil)
	pss := pssPadding{text(name), uint32(algorithm.Size())}
	signature, status := sign(key, unsafe.Pointer(&pss), sum, padPSS)
	if algorithm == crypto.SHA1 {
		wantRefusal(t, "PSS with SHA-1", status, nteNotSupported)
		return
	}

	must(t, "NCryptSignHash(PSS, "+name+")", status)
	options := rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash}
	if err := rsa.VerifyPSS(public, algorithm, sum, signature, &options); err != nil {
		t.Error(name, err)
	}

	wantStatus(t, "verify "+name, verify(other, unsafe.Pointer(&pss), sum, signature, padPSS), 0)
	wantNoVerify(t, other, unsafe.Pointer(&pss), sum, signature, padPSS)
	pss.salt = 13
	_, status = sign(key, unsafe.Pointer(&pss), sum, padPSS)
	wantRefusal(t, "another salt", status, nteNotSupported)
}

func crypt(name string, key uintptr, padding unsafe.Pointer, in []byte, flags uintptr) ([]byte, uint32) {
	var size uint32
	if status := ncrypt(name, key, in, len(in), padding, 0, 0,
		&size, flags); status != 0 {
		return nil, status
	}
	out := make([]byte, size)
	status := ncrypt(name, key, in, len(in), padding, out, size,
		&size, flags)
	return out[:min(int(size), len(out))], status
}

func TestRSAEncryption(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}

	key := mustImport(t, "PKCS8_PRIVATEKEY", der)
	for _, message := range [][]byte{[]byte("hello"), bytes.Repeat([]byte{0}, 200), {7}} {
		sealed, status := crypt("NCryptEncrypt", key, nil, message, padPKCS1)
		must(t, "NCryptEncrypt(PKCS #1)", status)
		if got, err := rsa.DecryptPKCS1v15(nil, private, sealed); err != nil || !bytes.Equal(got, message) {
			t.Errorf("Go decrypts % x, %v", got, err)
		}
		got, status := crypt("NCryptDecrypt", key, nil, sealed, padPKCS1)
		if status != 0 || !bytes.Equal(got, message) {
			t.Errorf("NCryptDecrypt: % x, %#x", got, status)
		}

		oaep := oaepPadding{algorithm: text("SHA1")}
		sealed, status = crypt("NCryptEncrypt", key, unsafe.Pointer(&oaep), message, padOAEP)
		must(t, "NCryptEncrypt(OAEP)", status)
		got, err := rsa.DecryptOAEP(sha1.New(), nil, private, sealed, nil)
		if err != nil || !bytes.Equal(got, message) {
			t.Errorf("Go decrypts % x, %v", got, err)
		}
		if sealed, err = rsa.EncryptOAEP(sha1.New(), rand.Reader, &private.PublicKey, message, nil); err != nil {
			t.Fatal(err)
		}

		if got, status = crypt("NCryptDecrypt", key, unsafe.Pointer(&oaep), sealed, padOAEP); status != 0 ||
			!bytes.Equal(got, message) {
			t.Errorf("NCryptDecrypt(OAEP): % x, %#x", got, status)
		}
		_, status = crypt("NCryptDecrypt", key, unsafe.Pointer(&oaep), tampered(sealed), padOAEP)
		wantStatus(t, "decrypt a changed message", status, nteInvalidParameter)
		_, status = crypt("NCryptDecrypt", key, unsafe.Pointer(&oaep), sealed[1:], padOAEP)
		wantStatus(t, "decrypt a shortened message", status, nteInvalidParameter)
	}

	checkOAEP256(t, key, private)
	_, status := crypt("NCryptEncrypt", key, nil, make([]byte, 246), padPKCS1)
	wantStatus(t, "encrypt too much", status, nteInvalidParameter)
	oaep := oaepPadding{algorithm: text("SHA1")}
	_, status = crypt("NCryptEncrypt", key, unsafe.Pointer(&oaep), make([]byte, 215), padOAEP)
	wantStatus(t, "encrypt too much", status, nteInvalidParameter)
	_, status = crypt("NCryptEncrypt", key, nil, []byte("hello"), padOAEP)
	wantStatus(t, "encrypt without a padding", status, nteInvalidParameter)
}

// checkOAEP256 tries OAEP with SHA-256, which either works in both directions or is refused.
func checkOAEP256(t *testing.T, key uintptr, private *rsa.PrivateKey) {
	t.Helper()
	label := []byte("label")
	for _, padding := range []oaepPadding{
		{algorithm: text("SHA256")},
		{algorithm: text("SHA256"), label: &label[0], labelSize: uint32(len(label))},
	} {
		sealed, status := crypt("NCryptEncrypt", key, unsafe.Pointer(&padding), []byte("hello"), padOAEP)
		if status == nteNotSupported {
			t.Log("OAEP with SHA-256 is refused")
			return
		}

		must(t, "NCryptEncrypt(OAEP, SHA-256)", status)
		got, err := rsa.DecryptOAEP(sha256.New(), nil, private, sealed, label[:padding.labelSize])
		if err != nil || string(got) != "hello" {
			t.Errorf("Go decrypts % x, %v", got, err)
		}
		if got, status = crypt("NCryptDecrypt", key, unsafe.Pointer(&padding), sealed, padOAEP); status != 0 ||
			string(got) != "hello" {
			t.Errorf("NCryptDecrypt(OAEP, SHA-256): % x, %#x", got, status)
		}
	}
}
