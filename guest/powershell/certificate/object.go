package certificate

import (
	"crypto/sha1" // a thumbprint is one
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/session"
)

// Kind is the kind of objects that are certificates, ClassName their class.
const (
	Kind      = "certificate"
	ClassName = "System.Security.Cryptography.X509Certificates.X509Certificate2"
)

// CryptographicException is the exception of what is no certificate, and of stores.
const CryptographicException = "System.Security.Cryptography.CryptographicException"

// errNone returns the error of bytes that are no certificate, in the words of CryptoAPI.
func errNone() error {
	return object.Raise(CryptographicException, "Cannot find the requested object.\r\n")
}

// Read returns the certificates of a file's content: one in DER, or those of a text in PEM.
func Read(content []byte) ([][]byte, error) {
	var all [][]byte
	for rest := content; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type == "CERTIFICATE" {
			all = append(all, block.Bytes)
		}
	}

	if all == nil {
		all = [][]byte{content}
	}

	for _, one := range all {
		if _, err := x509.ParseCertificate(one); err != nil {
			return nil, errNone()
		}
	}

	return all, nil
}

// Thumbprint returns the SHA-1 of a certificate, as Windows names it by.
func Thumbprint(der []byte) string { return fmt.Sprintf("%X", sha1.Sum(der)) }

// Object returns a certificate as an object of .NET. Of one that cannot be read, which a store may have, only the bytes
// and their thumbprint are known.
func Object(der []byte) *object.Object {
	o := object.New(Kind)
	o.Own, o.Class = der, Class
	o.Props["rawdata"] = object.ByteList(der)

	c, err := x509.ParseCertificate(der)
	if err != nil {
		c = &x509.Certificate{}
	}

	o.Set("Subject", nameText(c.RawSubject)).Set("Issuer", nameText(c.RawIssuer)).Set("Thumbprint", Thumbprint(der)).
		Set("FriendlyName", "").Set("NotBefore", object.DateTime{At: c.NotBefore.Local()}).
		Set("NotAfter", object.DateTime{At: c.NotAfter.Local()})

	serial := ""
	if c.SerialNumber != nil {
		serial = fmt.Sprintf("%X", c.SerialNumber)
		serial = strings.Repeat("0", len(serial)%2) + serial
	}

	names := []object.Value{}
	for _, name := range c.DNSNames {
		names = append(names, object.New(object.Custom).Set("Punycode", name).Set("Unicode", name))
	}

	o.Props["serialnumber"] = serial
	o.Props["version"] = int64(c.Version)
	o.Props["dnsnamelist"] = names
	o.Props["hasprivatekey"] = false // keys are not read
	o.Shown = func(*object.Object) string { return text(o) }
	return o
}

// text returns a certificate as its ToString does.
func text(o *object.Object) string {
	of := func(name string) string { return object.Text(o.Props[name]) }
	date := func(name string) string {
		s, _ := o.Props[name].(object.DateTime).Format("G") // the format is a known one
		return s
	}
	return "[Subject]\r\n  " + of("subject") + "\r\n\r\n[Issuer]\r\n  " + of("issuer") +
		"\r\n\r\n[Serial Number]\r\n  " + of("serialnumber") + "\r\n\r\n[Not Before]\r\n  " + date("notbefore") +
		"\r\n\r\n[Not After]\r\n  " + date("notafter") + "\r\n\r\n[Thumbprint]\r\n  " + of("thumbprint") + "\r\n"
}

// Of returns the bytes of a value that is a certificate.
func Of(v object.Value) ([]byte, bool) {
	o, ok := v.(*object.Object)
	if !ok || o.Kind != Kind {
		return nil, false
	}
	der, ok := o.Own.([]byte)
	return der, ok
}

// Class returns the class X509Certificate2, of a file or of bytes
// (https://learn.microsoft.com/en-us/dotnet/api/system.security.cryptography.x509certificates.x509certificate2).
func Class() *object.Class {
	property := func(name string) func(c *object.Call) (object.Value, error) {
		return func(c *object.Call) (object.Value, error) { return object.Property(c.On, name) }
	}

	return &object.Class{
		Name:   ClassName,
		Others: []string{"x509certificate", "security.cryptography.x509certificates.x509certificate"},
		Make: &object.Method{
			Least: 1,
			Most:  1,
			Do:    makeCertificate,
		},
		Methods: []object.Method{
			{Name: "GetCertHashString", Do: property("thumbprint")},
			{Name: "GetSerialNumberString", Do: property("serialnumber")},
			{Name: "GetRawCertData", Do: property("rawdata")},
			{Name: "GetExpirationDateString", Do: date("notafter")},
			{Name: "GetEffectiveDateString", Do: date("notbefore")},
			{Name: "Verify", Do: verify},
			{Name: "Export", Least: 1, Most: 1, Do: export},
		},
	}
}

func date(name string) func(c *object.Call) (object.Value, error) {
	return func(c *object.Call) (object.Value, error) {
		v, err := object.Property(c.On, name)
		if at, is := v.(object.DateTime); is && err == nil {
			return at.Format("G")
		}
		return v, err
	}
}

func makeCertificate(c *object.Call) (object.Value, error) {
	content, err := object.BytesOf(c.Arg(0))
	if path, isPath := object.Plain(c.Arg(0)).(string); isPath {
		if content, err = readFile(c.State, path); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}

	all, err := Read(content)
	if err != nil {
		return nil, err
	}

	return Object(all[0]), nil
}

func readFile(s *session.State, path string) ([]byte, error) {
	content, err := os.ReadFile(s.Path(path))
	if os.IsNotExist(err) {
		return nil, object.Raise(CryptographicException, "The system cannot find the file specified.\r\n")
	}
	if err != nil {
		return nil, provider.Because(path, err)
	}
	return content, nil
}

// verify carries out Verify: whether a chain of certificates leads from this one to one that Windows trusts.
func verify(c *object.Call) (object.Value, error) {
	der, _ := Of(c.On)
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return false, nil //nolint:nilerr // so nobody trusts it
	}
	_, err = certificate.Verify(x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err == nil, nil
}

// export carries out Export of the type Cert, which has no key.
func export(c *object.Call) (object.Value, error) {
	if kind := strings.ToLower(c.Text(0)); kind != "cert" && kind != "1" {
		return nil, object.Thrown("Export of a certificate as %s is not part of Mullion's PowerShell, which has Cert.", c.Text(0))
	}
	return object.Property(c.On, "rawdata")
}
