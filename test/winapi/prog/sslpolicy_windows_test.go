package prog

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"math/big"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// authority makes certificates, and is in the machine's store of roots until the test ends.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pool        *x509.CertPool
	serial      int64
}

func newAuthority(t *testing.T, trusted bool, template *x509.Certificate) *authority {
	t.Helper()
	a := &authority{pool: x509.NewCertPool()}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}

	template.SerialNumber, template.Subject = big.NewInt(1), pkix.Name{CommonName: t.Name()}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}

	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.certificate)
	if trusted {
		trust(t, der)
	}
	return a
}

// trust puts a certificate into the machine's store of roots, and takes it out when the test ends.
func trust(t *testing.T, der []byte) {
	t.Helper()
	inRoots(t, func(store windows.Handle) error {
		made, err := windows.CertCreateCertificateContext(windows.X509_ASN_ENCODING, &der[0], uint32(len(der)))
		if err != nil {
			return err
		}
		err = windows.CertAddCertificateContextToStore(store, made, windows.CERT_STORE_ADD_ALWAYS, nil)
		return errors.Join(err, windows.CertFreeCertificateContext(made))
	})

	t.Cleanup(func() {
		inRoots(t, func(store windows.Handle) error {
			made, err := windows.CertCreateCertificateContext(windows.X509_ASN_ENCODING, &der[0], uint32(len(der)))
			if err != nil {
				return err
			}
			defer func() { _ = windows.CertFreeCertificateContext(made) }()
			found, err := windows.CertFindCertificateInStore(store, windows.X509_ASN_ENCODING, 0,
				windows.CERT_FIND_EXISTING, unsafe.Pointer(made), nil)
			if err != nil {
				return err
			}

			return windows.CertDeleteCertificateFromStore(found)
		})
	})
}

// inRoots opens the machine's store of roots. What is changed there is written when the store is closed.
func inRoots(t *testing.T, do func(store windows.Handle) error) {
	t.Helper()
	name, err := windows.UTF16PtrFromString("Root")
	if err != nil {
		t.Fatal(err)
	}
	store, err := windows.CertOpenStore(windows.CERT_STORE_PROV_SYSTEM_W, 0, 0, windows.CERT_SYSTEM_STORE_LOCAL_MACHINE,
		uintptr(unsafe.Pointer(name)))
	if err != nil {
		t.Fatalf("open the store of roots: %v", err)
	}
	if err := errors.Join(do(store), windows.CertCloseStore(store, 0)); err != nil {
		t.Fatalf("change the store of roots: %v", err)
	}
}

func (a *authority) make(t *testing.T, change func(*x509.Certificate)) *x509.Certificate {
	t.Helper()
	a.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	change(template)
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}

	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// verdict returns what a verifier says of a certificate, in one word.
func verdict(err error) string {
	if err == nil {
		return "good"
	}
	if _, is := errors.AsType[x509.HostnameError](err); is {
		return "name"
	}
	if _, is := errors.AsType[x509.UnknownAuthorityError](err); is {
		return "authority"
	}

	if invalid, is := errors.AsType[x509.CertificateInvalidError](err); is {
		switch invalid.Reason {
		case x509.Expired:
			return "expired"
		case x509.IncompatibleUsage:
			return "usage"
		}
	}

	return err.Error()
}

// isShort reports whether a number of a certificate's signature has a byte less than the curve's order.
func isShort(t *testing.T, certificate *x509.Certificate) bool {
	t.Helper()
	var numbers struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(certificate.Signature, &numbers); err != nil {
		t.Fatal(err)
	}
	return min(numbers.R.BitLen(), numbers.S.BitLen()) <= 248
}

// afresh is the variable that tells a test that it runs in a process of its own.
const afresh = "WINAPI_AFRESH"

// TestServersOfTLS: Windows' verifier, with the machine's store, says of a table of certificates what Go's own says
// with the same root. A process knows the roots that there were when it first asked.
func TestServersOfTLS(t *testing.T) {
	if os.Getenv(afresh) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), afresh+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}

	known, stranger := newAuthority(t, true, &x509.Certificate{}), newAuthority(t, false, &x509.Certificate{})
	ips := func(texts ...string) func(*x509.Certificate) {
		return func(c *x509.Certificate) {
			for _, text := range texts {
				c.IPAddresses = append(c.IPAddresses, net.ParseIP(text))
			}
		}
	}

	names := func(names ...string) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.DNSNames = names }
	}
	common := func(name string, others ...string) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.Subject.CommonName, c.DNSNames = name, others }
	}

	rows := map[string]struct {
		by   *authority
		leaf func(*x509.Certificate)
		host string
		want string
	}{
		"name":                {known, names("a.example"), "a.example", "good"},
		"second name":         {known, names("b.example", "a.example"), "A.EXAMPLE", "good"},
		"other name":          {known, names("a.example"), "b.example", "name"},
		"below":               {known, names("a.example"), "x.a.example", "name"},
		"star":                {known, names("*.example.org"), "www.example.org", "good"},
		"star two deep":       {known, names("*.example.org"), "a.www.example.org", "name"},
		"star itself":         {known, names("*.example.org"), "example.org", "name"},
		"half a star":         {known, names("w*.example.org"), "www.example.org", "name"},
		"star inside":         {known, names("www.*.org"), "www.example.org", "name"},
		"punycode":            {known, names("xn--bcher-kva.example"), "xn--bcher-kva.example", "good"},
		"punycode star":       {known, names("*.example"), "xn--bcher-kva.example", "good"},
		"no common name":      {known, common("a.example"), "a.example", "name"},
		"other than common":   {known, common("a.example", "b.example"), "a.example", "name"},
		"address":             {known, ips("10.213.0.254"), "10.213.0.254", "good"},
		"second address":      {known, ips("192.0.2.1", "10.213.0.254"), "10.213.0.254", "good"},
		"other address":       {known, ips("10.213.0.254"), "10.213.0.25", "name"},
		"address of IPv6":     {known, ips("fd00::1"), "fd00::1", "good"},
		"address in brackets": {known, ips("fd00::1"), "[fd00::1]", "good"},
		"other of IPv6":       {known, ips("fd00::1"), "fd00::2", "name"},
		"address as a name":   {known, names("10.213.0.254"), "10.213.0.254", "name"},
		"address as common":   {known, common("10.213.0.254"), "10.213.0.254", "name"},
		"name for an address": {known, ips("10.213.0.254"), "a.example", "name"},
		"expired": {known, func(c *x509.Certificate) {
			ips("10.213.0.254")(c)
			c.NotAfter = time.Now().Add(-time.Minute)
		}, "10.213.0.254", "expired"},
		"of a client": {known, func(c *x509.Certificate) {
			ips("10.213.0.254")(c)
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		}, "10.213.0.254", "usage"},
		"stranger": {stranger, ips("10.213.0.254"), "10.213.0.254", "authority"},
	}

	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			leaf := row.by.make(t, row.leaf)
			_, own := leaf.Verify(x509.VerifyOptions{Roots: known.pool, DNSName: row.host})
			_, system := leaf.Verify(x509.VerifyOptions{DNSName: row.host})
			if got := verdict(own); got != row.want {
				t.Errorf("Go's own verifier says %q of %q, want %q", got, row.host, row.want)
			}
			if got := verdict(system); got != row.want {
				t.Errorf("Windows' verifier says %q of %q, want %q", got, row.host, row.want)
			}
		})
	}

	// A signature's number that begins with a zero byte is a number like others.
	short := known.make(t, names("a.example"))
	for !isShort(t, short) {
		short = known.make(t, names("a.example"))
	}

	if _, err := short.Verify(x509.VerifyOptions{DNSName: "a.example"}); err != nil {
		t.Errorf("Windows' verifier says %q of the signature %x", verdict(err), short.Signature)
	}

	// A name with letters that ASCII has not is that of its Punycode, which Go's own verifier leaves to its callers.
	leaf := known.make(t, names("xn--bcher-kva.example"))
	for host, want := range map[string]string{"bücher.example": "good", "bûcher.example": "name"} {
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: host}); verdict(err) != want {
			t.Errorf("Windows' verifier says %q of %q, want %q", verdict(err), host, want)
		}
	}
}
