package prog

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"reflect"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Answers of ncrypt.dll (winerror.h).
const (
	nteBadSignature     = 0x80090006
	nteBadData          = 0x80090005
	nteBadFlags         = 0x80090009
	nteBadKeyState      = 0x8009000b
	nteNotFound         = 0x80090011
	nteBadKeyset        = 0x80090016
	nteKeysetNotDef     = 0x80090019
	nteInvalidHandle    = 0x80090026
	nteInvalidParameter = 0x80090027
	nteBufferTooSmall   = 0x80090028
	nteNotSupported     = 0x80090029
)

// Flags of bcrypt.h and ncrypt.h.
const (
	padPKCS1             = 2
	padOAEP              = 4
	padPSS               = 8
	allowExport          = 1
	allowPlaintextExport = 2
)

// call calls a function of a library: strings become wide strings, slices and pointers their addresses.
func call(library, name string, args ...any) uintptr {
	words := make([]uintptr, len(args))
	kept := make([]any, len(args))
	for i, arg := range args {
		kept[i] = arg
		switch arg := arg.(type) {
		case nil:
		case string:
			p := text(arg)
			kept[i], words[i] = p, uintptr(unsafe.Pointer(p))

		case []byte:
			words[i] = uintptr(unsafe.Pointer(unsafe.SliceData(arg)))
		case unsafe.Pointer:
			words[i] = uintptr(arg)
		case uintptr:
			words[i] = arg
		case uint32:
			words[i] = uintptr(arg)
		case int:
			words[i] = uintptr(arg)
		default:
			words[i] = reflect.ValueOf(arg).Pointer()
		}
	}

	result, _, _ := windows.NewLazySystemDLL(library).NewProc(name).Call(words...)
	runtime.KeepAlive(kept)
	return result
}

// ncrypt calls a function of ncrypt.dll, whose answer is a status.
func ncrypt(name string, args ...any) uint32 { return uint32(call("ncrypt.dll", name, args...)) }

func wantStatus(t *testing.T, what string, got, want uint32) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %#x, want %#x", what, got, want)
	}
}

// must ends the test unless the call that it names has succeeded.
func must(t *testing.T, what string, status uint32) {
	t.Helper()
	if status != 0 {
		t.Fatalf("%s: %#x", what, status)
	}
}

// wantRefusal is for what Windows has and is refused here.
func wantRefusal(t *testing.T, what string, got, want uint32) {
	t.Helper()
	if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil {
		wantStatus(t, what, got, want)
	}
}

// text makes a wide string of one without zeros.
func text(s string) *uint16 {
	p, _ := windows.UTF16PtrFromString(s)
	return p
}

func ncryptProvider(t *testing.T) uintptr {
	t.Helper()
	var provider uintptr
	must(t, "NCryptOpenStorageProvider", ncrypt("NCryptOpenStorageProvider", &provider, 0, 0))
	t.Cleanup(func() { wantStatus(t, "NCryptFreeObject(provider)", ncrypt("NCryptFreeObject", provider), 0) })
	return provider
}

func freeKey(t *testing.T, key uintptr) {
	t.Helper()
	t.Cleanup(func() { wantStatus(t, "NCryptFreeObject(key)", ncrypt("NCryptFreeObject", key), 0) })
}

// newKey makes a key that can be exported; bits 0: the algorithm says.
func newKey(t *testing.T, algorithm string, bits uint32) uintptr {
	t.Helper()
	var key uintptr
	must(t, "NCryptCreatePersistedKey("+algorithm+")", ncrypt("NCryptCreatePersistedKey", ncryptProvider(t),
		&key, algorithm, nil, 0, 0))
	freeKey(t, key)
	if bits != 0 {
		must(t, "set Length", setNumber(key, "Length", bits))
	}
	must(t, "set Export Policy", setNumber(key, "Export Policy", allowExport|allowPlaintextExport))
	must(t, "NCryptFinalizeKey", ncrypt("NCryptFinalizeKey", key, 0))
	return key
}

func setNumber(key uintptr, name string, number uint32) uint32 {
	return ncrypt("NCryptSetProperty", key, name, &number, 4, 0)
}

// property is asked for as .NET does: first its size, then the value.
func property(handle uintptr, name string) ([]byte, uint32) {
	var size uint32
	if status := ncrypt("NCryptGetProperty", handle, name, 0, 0, &size, 0); status != 0 {
		return nil, status
	}
	value := make([]byte, size)
	status := ncrypt("NCryptGetProperty", handle, name, value, size,
		&size, 0)
	return value[:min(int(size), len(value))], status
}

func wantProperty(t *testing.T, handle uintptr, name string, want any) {
	t.Helper()
	value, status := property(handle, name)
	var got any
	switch {
	case status != 0:
		t.Errorf("%s: %#x", name, status)
		return
	case len(value) == 4:
		got = binary.LittleEndian.Uint32(value)
	case len(value)%2 == 0 && len(value) > 0:
		got = windows.UTF16PtrToString((*uint16)(unsafe.Pointer(&value[0])))
	}
	if got != want {
		t.Errorf("%s: got %v (% x), want %v", name, got, value, want)
	}
}

func exportKey(key uintptr, format string) ([]byte, uint32) {
	var size uint32
	if status := ncrypt("NCryptExportKey", key, 0, format, 0, 0, 0,
		&size, 0); status != 0 {
		return nil, status
	}
	blob := make([]byte, size)
	status := ncrypt("NCryptExportKey", key, 0, format, 0, blob, size,
		&size, 0)
	return blob[:min(int(size), len(blob))], status
}

func mustExport(t *testing.T, key uintptr, format string) []byte {
	t.Helper()
	blob, status := exportKey(key, format)
	must(t, "NCryptExportKey("+format+")", status)
	return blob
}

// importKey leaves it to its caller to free the key.
func importKey(t *testing.T, format string, blob []byte) (key uintptr, status uint32) {
	t.Helper()
	status = ncrypt("NCryptImportKey", ncryptProvider(t), 0, format, 0, &key,
		blob, len(blob), 0)
	return key, status
}

func mustImport(t *testing.T, format string, blob []byte) uintptr {
	t.Helper()
	key, status := importKey(t, format, blob)
	must(t, "NCryptImportKey("+format+")", status)
	freeKey(t, key)
	return key
}

func sign(key uintptr, padding unsafe.Pointer, hash []byte, flags uintptr) ([]byte, uint32) {
	var size uint32
	if status := ncrypt("NCryptSignHash", key, padding, hash, len(hash), 0, 0,
		&size, flags); status != 0 {
		return nil, status
	}
	signature := make([]byte, size)
	status := ncrypt("NCryptSignHash", key, padding, hash, len(hash), signature,
		size, &size, flags)
	return signature[:min(int(size), len(signature))], status
}

func verify(key uintptr, padding unsafe.Pointer, hash, signature []byte, flags uintptr) uint32 {
	return ncrypt("NCryptVerifySignature", key, padding, hash, len(hash),
		signature, len(signature), flags)
}

// tampered is b with one bit changed in its first byte: of a long hash ECDSA reads no more than the curve has.
func tampered(b []byte) []byte {
	changed := bytes.Clone(b)
	changed[0] ^= 4
	return changed
}

// wantNoVerify checks that neither another hash nor another signature, nor one of another length, verifies.
func wantNoVerify(t *testing.T, key uintptr, padding unsafe.Pointer, hash, signature []byte, flags uintptr) {
	t.Helper()
	wantStatus(t, "verify another hash", verify(key, padding, tampered(hash), signature, flags), nteBadSignature)
	wantStatus(t, "verify a changed signature", verify(key, padding, hash, tampered(signature), flags), nteBadSignature)
	wantStatus(t, "verify a shortened signature", verify(key, padding, hash, signature[1:], flags), nteBadSignature)
	wantStatus(t, "verify a signature of zeros", verify(key, padding, hash, make([]byte, len(signature)), flags),
		nteBadSignature)
}

// TestNcryptHasBcrypt hashes by the functions of bcrypt.dll that ncrypt.dll has too.
func TestNcryptHasBcrypt(t *testing.T) {
	var provider uintptr
	if status := call("ncrypt.dll", "BCryptOpenAlgorithmProvider", unsafe.Pointer(&provider), "SHA256", nil, 0); status != 0 {
		t.Fatalf("open: %x", status)
	}
	input, hash := []byte("text"), make([]byte, sha256.Size)
	if status := call("ncrypt.dll", "BCryptHash", provider, nil, 0, input, len(input), hash, len(hash)); status != 0 {
		t.Fatalf("hash: %x", status)
	}

	if want := sha256.Sum256(input); !bytes.Equal(hash, want[:]) {
		t.Errorf("%x, want %x", hash, want)
	}
	if status := call("ncrypt.dll", "BCryptCloseAlgorithmProvider", provider, 0); status != 0 {
		t.Errorf("close: %x", status)
	}
}
