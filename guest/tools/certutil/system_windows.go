package certutil

import (
	"errors"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// ThisSystem returns the Windows that the program runs on.
func ThisSystem() System { return local{} }

type local struct{}

// cryptExists is CRYPT_E_EXISTS
// (https://learn.microsoft.com/windows/win32/api/wincrypt/nf-wincrypt-certaddcertificatecontexttostore).
const cryptExists = syscall.Errno(0x80092005)

// AddCertificate implements System.
func (local) AddCertificate(store string, machine bool, certificate []byte) (added bool, err error) {
	name, err := windows.UTF16PtrFromString(store)
	if err != nil {
		return false, err
	}
	place := uint32(windows.CERT_SYSTEM_STORE_CURRENT_USER)
	if machine {
		place = windows.CERT_SYSTEM_STORE_LOCAL_MACHINE
	}

	handle, err := windows.CertOpenStore(windows.CERT_STORE_PROV_SYSTEM_W, 0, 0, place, uintptr(unsafe.Pointer(name)))
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
	switch {
	case errors.Is(err, cryptExists):
		err = nil
	case errors.Is(err, windows.ERROR_ACCESS_DENIED):
		err = os.ErrPermission
	}

	return added, errors.Join(err, windows.CertFreeCertificateContext(context), windows.CertCloseStore(handle, 0))
}
