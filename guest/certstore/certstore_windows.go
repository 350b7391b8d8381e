package certstore

import (
	"bytes"
	"crypto/sha1" // Windows names certificates by it
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// Numbers of CryptoAPI that a call answers: CRYPT_E_EXISTS and CRYPT_E_NOT_FOUND
// (https://learn.microsoft.com/windows/win32/api/wincrypt/nf-wincrypt-certaddcertificatecontexttostore).
const (
	cryptExists   = syscall.Errno(0x80092005)
	cryptNotFound = syscall.Errno(0x80092004)
)

// open opens a store; how are flags of CertOpenStore.
func open(machine bool, store string, how uint32) (windows.Handle, error) {
	name, err := windows.UTF16PtrFromString(store)
	if err != nil {
		return 0, err
	}
	place := uint32(windows.CERT_SYSTEM_STORE_CURRENT_USER)
	if machine {
		place = windows.CERT_SYSTEM_STORE_LOCAL_MACHINE
	}

	handle, err := windows.CertOpenStore(windows.CERT_STORE_PROV_SYSTEM_W, 0, 0, place|how,
		uintptr(unsafe.Pointer(name)))
	return handle, plain(err)
}

// plain returns an error as one of Go's, where there is one.
func plain(err error) error {
	switch {
	case errors.Is(err, windows.ERROR_ACCESS_DENIED):
		return fs.ErrPermission
	case errors.Is(err, windows.ERROR_FILE_NOT_FOUND):
		return fs.ErrNotExist
	}
	return err
}

// List returns the certificates of a store; fs.ErrNotExist for one that is not there.
func (s System) List(machine bool, store string) ([][]byte, error) {
	how := uint32(windows.CERT_STORE_READONLY_FLAG)
	if !slices.ContainsFunc(s.Names(machine), func(one string) bool { return strings.EqualFold(one, store) }) {
		how |= windows.CERT_STORE_OPEN_EXISTING_FLAG
	}
	handle, err := open(machine, store, how)
	if err != nil {
		return nil, err
	}

	var all [][]byte
	err = each(handle, func(certificate []byte) { all = append(all, bytes.Clone(certificate)) })
	return all, errors.Join(err, windows.CertCloseStore(handle, 0))
}

// each calls do for the certificates of a store.
func each(store windows.Handle, do func(certificate []byte)) error {
	var at *windows.CertContext
	for {
		next, err := windows.CertEnumCertificatesInStore(store, at) // it frees the one before
		switch {
		case next == nil && (errors.Is(err, cryptNotFound) || errors.Is(err, windows.ERROR_NO_MORE_FILES)):
			return nil
		case next == nil:
			return err
		}

		at = next
		do(unsafe.Slice(at.EncodedCert, at.Length))
	}
}

// Add adds a certificate, and reports whether it was not there before.
func (System) Add(machine bool, store string, certificate []byte) (added bool, err error) {
	handle, err := open(machine, store, 0)
	if err != nil {
		return false, err
	}
	context, err := windows.CertCreateCertificateContext(windows.X509_ASN_ENCODING|windows.PKCS_7_ASN_ENCODING,
		&certificate[0], uint32(len(certificate)))
	if err != nil {
		return false, errors.Join(err, windows.CertCloseStore(handle, 0))
	}

	err = windows.CertAddCertificateContextToStore(handle, context, windows.CERT_STORE_ADD_NEW, nil)
	added = err == nil
	if errors.Is(err, cryptExists) {
		err = nil
	}
	return added, errors.Join(plain(err), windows.CertFreeCertificateContext(context),
		windows.CertCloseStore(handle, 0))
}

// Remove removes a certificate; fs.ErrNotExist if it is not there. It removes the key of the registry that the store
// keeps it in, named by its SHA-1: CertDeleteCertificateFromStore of Wine 8 answers TRUE and keeps it
// (https://learn.microsoft.com/windows/win32/seccrypto/system-store-locations).
func (System) Remove(machine bool, store string, certificate []byte) error {
	if strings.ContainsAny(store, `\/`) {
		return fs.ErrNotExist
	}
	place := registry.CURRENT_USER
	if machine {
		place = registry.LOCAL_MACHINE
	}
	path := fmt.Sprintf(`Software\Microsoft\SystemCertificates\%s\Certificates\%X`, store, sha1.Sum(certificate))
	return plain(registry.DeleteKey(place, path))
}
