// Package pki has cmdlets of the module PKI: certificates of files, and stores
// (https://learn.microsoft.com/en-us/powershell/module/pki).
package pki

import (
	"errors"
	"io/fs"
	"os"

	"mullion.dev/mullion/guest/powershell/certificate"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
)

// failure returns an error of a cmdlet, with the number of Windows that the cmdlet puts behind its words.
func failure(class, text, number string) error {
	return &object.Exception{
		Class:    class,
		ID:       class,
		Category: "NotSpecified",
		Message:  text + " " + number,
	}
}

// because returns an error of a file or a store, in the words of these cmdlets.
func because(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failure("System.IO.FileNotFoundException", "The system cannot find the file specified.",
			"0x80070002 (WIN32: 2 ERROR_FILE_NOT_FOUND)")
	case errors.Is(err, fs.ErrPermission):
		return failure("System.UnauthorizedAccessException", "Access is denied.",
			"0x80070005 (WIN32: 5 ERROR_ACCESS_DENIED)")
	}
	return err
}

// importCertificate adds the certificates of files to a store, and outputs them.
func importCertificate(c *cmdlet.Call) error {
	stores := c.State.System.Certificates
	place := c.Text("certstorelocation")
	if place == "" || !certificate.OnDrive(place) {
		return c.Fail(object.Misfit("ParameterArgumentValidationError", "Cannot import the certificate: "+
			"-CertStoreLocation names a store, such as Cert:\\LocalMachine\\Root."))
	}
	found, err := certificate.Find(stores, place)
	if err != nil {
		return c.Fail(provider.Because(place, err))
	}
	if len(found) != 1 || found[0].Store == "" || found[0].Certificate != nil {
		return c.Fail(provider.Because(place, fs.ErrNotExist))
	}

	for _, path := range c.Items("filepath") {
		content, err := os.ReadFile(c.State.Path(object.Text(path)))
		if err != nil {
			return c.Fail(because(err))
		}
		all, err := certificate.Read(content)
		if err != nil {
			return c.Fail(failure("System.ComponentModel.Win32Exception", "Cannot find the requested object.",
				"0x80092009 (-2146885623 CRYPT_E_NO_MATCH)"))
		}

		for _, der := range all {
			into := found[0]
			if _, err := stores.Add(into.Machine(), into.Store, der); err != nil {
				return c.Fail(because(err))
			}
			into.Certificate = der
			if err := c.Out.Put(into.Object(stores)); err != nil {
				return err
			}
		}
	}
	return nil
}

// exportCertificate writes a certificate into a file, as DER, and outputs the file.
func exportCertificate(c *cmdlet.Call) error {
	given := c.Items("cert")
	if len(given) != 1 {
		return object.Thrown("%s : several certificates in one file are not part of Mullion's PowerShell.", c.Name)
	}
	der, ok := certificate.Of(given[0])
	if path := object.Text(given[0]); !ok && certificate.OnDrive(path) {
		found, err := certificate.Find(c.State.System.Certificates, path)
		if err != nil {
			return c.Fail(provider.Because(path, err))
		}
		if len(found) == 1 {
			der = found[0].Certificate
		}
	}
	if der == nil {
		return object.CannotConvert(given[0], certificate.ClassName)
	}

	path := c.State.Path(c.Text("filepath"))
	if err := c.KnownPath(c.Text("filepath")); err != nil {
		return err
	}
	how := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if c.Flags["noclobber"] {
		how |= os.O_EXCL
	}
	file, err := os.OpenFile(path, how, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return c.Fail(failure("System.IO.IOException", "The file exists.", "0x80070050 (WIN32: 80 ERROR_FILE_EXISTS)"))
	}
	if err != nil {
		return c.Fail(because(err))
	}

	_, err = file.Write(der)
	if err := errors.Join(err, file.Close()); err != nil {
		return c.Fail(because(err))
	}
	info, err := os.Lstat(path)
	if err != nil {
		return c.Fail(because(err))
	}
	return c.Out.Put(provider.Item(path, info))
}

// Cmdlets returns the cmdlets of this package.
func Cmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		{
			Name:      "Import-Certificate",
			About:     "adds the certificates of a file (DER or PEM) to a store, where TLS clients see them",
			Run:       importCertificate,
			Values:    []string{"filepath", "certstorelocation"},
			Also:      map[string]string{"fullname": "filepath"},
			Positions: []string{"filepath"},
			Takes:     "filepath",
			Needs:     []string{"filepath"},
		},
		{
			Name:      "Export-Certificate",
			About:     "writes a certificate into a file (DER)",
			Run:       exportCertificate,
			Values:    []string{"cert", "filepath", "type"},
			Flags:     []string{"force", "noclobber"},
			Positions: []string{"filepath"},
			Takes:     "cert",
			Needs:     []string{"cert", "filepath"},
			Allowed:   map[string][]string{"type": {"cert"}},
		},
	}
}
