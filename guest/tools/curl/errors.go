package curl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"
)

// Exit codes (https://curl.se/libcurl/c/libcurl-errors.html).
const (
	exitProtocol  = 1
	exitUsage     = 2
	exitURL       = 3
	exitResolve   = 6
	exitConnect   = 7
	exitPartial   = 18
	exitHTTP      = 22
	exitWrite     = 23
	exitRead      = 26
	exitTimeout   = 28
	exitTLS       = 35
	exitRedirects = 47
	exitEmpty     = 52
	exitReceive   = 56
	exitPeer      = 60
	exitAuthority = 77
	exitCert      = 58
)

// trouble is an error in curl's words, with its exit code.
type trouble struct {
	code int
	text string
}

func (t trouble) Error() string { return fmt.Sprintf("(%d) %s", t.code, t.text) }

func troubled(code int, format string, args ...any) error {
	return trouble{code, fmt.Sprintf(format, args...)}
}

// winsock are the numbers of Windows for what Linux calls ECONNREFUSED and ECONNRESET
// (https://learn.microsoft.com/windows/win32/winsock/windows-sockets-error-codes-2).
const (
	wsaReset   = syscall.Errno(10054)
	wsaRefused = syscall.Errno(10061)
)

// explain says what went wrong with a request in curl's words. since is how long the transfer took, got how many bytes
// of the body have come.
func explain(err error, u *url.URL, since time.Duration, got int64) error {
	if own, is := errors.AsType[trouble](err); is {
		return own
	}

	host, port := u.Hostname(), portOf(u)
	ms := since.Milliseconds()
	dial, dialing := errors.AsType[*net.OpError](err)
	dialing = dialing && dial.Op == "dial"
	_, unknown := errors.AsType[*net.DNSError](err)
	timeout := os.IsTimeout(err)
	if t, is := errors.AsType[net.Error](err); is {
		timeout = timeout || t.Timeout()
	}
	switch {
	case unknown:
		return troubled(exitResolve, "Could not resolve host: %s", host)
	case timeout && dialing:
		return troubled(exitTimeout, "Failed to connect to %s port %s after %d ms: Timeout was reached", host, port, ms)
	case timeout:
		return troubled(exitTimeout, "Operation timed out after %d milliseconds with %d bytes received", ms, got)
	case dialing:
		return troubled(exitConnect, "Failed to connect to %s port %s after %d ms: Couldn't connect to server", host, port, ms)
	}

	if t := explainTLS(err); t != nil {
		return t
	}

	switch {
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, wsaReset):
		return troubled(exitReceive, "Recv failure: Connection was reset")
	case strings.Contains(err.Error(), "malformed HTTP"):
		return troubled(exitProtocol, "Received HTTP/0.9 when not allowed")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return troubled(exitPartial, "transfer closed with outstanding read data remaining")
	case errors.Is(err, io.EOF):
		return troubled(exitEmpty, "Empty reply from server")
	}

	return troubled(exitReceive, "%v", err)
}

// explainTLS is the part of explain that concerns TLS; nil if err does not.
func explainTLS(err error) error {
	const schannel = "schannel: next InitializeSecurityContext failed: "
	if _, is := errors.AsType[x509.HostnameError](err); is {
		return troubled(exitPeer,
			schannel+"SEC_E_WRONG_PRINCIPAL (0x80090322) - The target principal name is incorrect.")
	}
	if _, is := errors.AsType[x509.UnknownAuthorityError](err); is {
		return troubled(exitPeer, schannel+"SEC_E_UNTRUSTED_ROOT (0x80090325) - The certificate chain was issued by an authority that is not trusted.")
	}

	if invalid, is := errors.AsType[x509.CertificateInvalidError](err); is && invalid.Reason == x509.Expired {
		return troubled(exitPeer, schannel+"SEC_E_CERT_EXPIRED (0x80090328) - The received certificate has expired.")
	}
	if v, is := errors.AsType[*tls.CertificateVerificationError](err); is {
		return troubled(exitPeer, "SSL certificate problem: %v", v.Err)
	}

	_, plain := errors.AsType[tls.RecordHeaderError](err)
	if plain || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		return troubled(exitTLS, schannel+"SEC_E_INVALID_TOKEN (0x80090308) - The token supplied to the function is invalid")
	}
	if _, is := errors.AsType[tls.AlertError](err); is || strings.Contains(err.Error(), "tls: ") {
		return troubled(exitTLS, "schannel: failed to receive handshake, SSL/TLS connection failed: %v", err)
	}
	return nil
}

func portOf(u *url.URL) string {
	switch port := u.Port(); {
	case port != "":
		return port
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
