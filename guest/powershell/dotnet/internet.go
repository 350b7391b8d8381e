package dotnet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync"

	"mullion.dev/mullion/guest/powershell/certificate"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// webError returns the error of a request in .NET's words.
func webError(ctx context.Context, err error, u *url.URL) error {
	_, unknown := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return object.Raise(object.WebException, "The operation has timed out.")
	case ctx.Err() != nil:
		return ctx.Err()
	case untrusted(err):
		return object.Raise(object.WebException, "The underlying connection was closed: Could not establish trust "+
			"relationship for the SSL/TLS secure channel.")
	case unknown:
		return object.Raise(object.WebException, "The remote name could not be resolved: '"+u.Hostname()+"'")
	case isNetwork(err):
		return object.Raise(object.WebException, "Unable to connect to the remote server")
	}

	return object.Raise(object.WebException, "The underlying connection was closed: "+err.Error()+".")
}

// untrusted reports whether an error is that of a server's certificate.
func untrusted(err error) bool {
	_, is := errors.AsType[*tls.CertificateVerificationError](err)
	return is || errors.Is(err, errRefused)
}

// errRefused is the error of a certificate that the script's own callback refuses.
var errRefused = errors.New("the remote certificate is invalid according to the validation procedure")

// manager is what a session has set of the class ServicePointManager.
type manager struct {
	callback *object.ScriptBlock // nil: servers have certificates that the machine trusts
}

// asked is a request, in which a script's callback may be asked about certificates.
type asked struct {
	mu   sync.Mutex
	host string // which is connected to: that of the last redirection
	over bool   // the script goes on
}

// goesTo says that the request is redirected to a host.
func (a *asked) goesTo(host string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.host = host
}

// end waits for the callback, and has it asked no more: it runs beside who waits for the answer, and a script is in one
// place at a time.
func (a *asked) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
}

// trust returns how a server's certificate is looked at: as the machine does, or by the callback of the script, which
// is asked in each case.
func (a *asked) trust(s *session.State) *tls.Config {
	callback := session.Keep[manager](s).callback
	if callback == nil {
		return nil
	}

	config := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the callback decides
	config.VerifyConnection = func(state tls.ConnectionState) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.over {
			return errRefused
		}
		shown := state.PeerCertificates[0]
		problems := object.Enum{
			Of: object.EnumOf(object.PolicyErrorsName),
			N:  problemsOf(state.PeerCertificates, a.host),
		}
		v, err := s.Invoke(callback, []any{nil, certificate.Object(shown.Raw), nil, problems})
		if err != nil {
			return err
		}
		if !object.Truth(v) {
			return errRefused
		}
		return nil
	}

	return config
}

// problemsOf returns what is wrong with the certificates of a host, of the first of which the others tell who has
// signed it. Who knows of one problem still wants to hear of the other.
func problemsOf(all []*x509.Certificate, host string) (problems int64) {
	others := x509.NewCertPool()
	for _, c := range all[1:] {
		others.AddCert(c)
	}
	if _, err := all[0].Verify(x509.VerifyOptions{Intermediates: others}); err != nil {
		problems |= object.ChainErrors
	}
	if all[0].VerifyHostname(host) != nil {
		problems |= object.NameMismatch
	}
	return problems
}

// managerClass returns the class System.Net.ServicePointManager, of which scripts set the versions of TLS. TLS 1.2 and
// newer ones are always used, so a choice without any of them is refused.
func managerClass() *object.Class {
	const newer = 3072 | 12288
	return &object.Class{
		Name: "System.Net.ServicePointManager",
		Fields: []object.Field{{
			Name: "SecurityProtocol",
			Get: func(*session.State, object.Value) (object.Value, error) {
				return object.Enum{Of: object.EnumOf(object.ProtocolName), N: newer}, nil
			},
			Set: func(_, v object.Value) error {
				chosen := int64(0)
				for name := range strings.SplitSeq(object.Text(v), ",") {
					one, ok := object.EnumOf(object.ProtocolName).Named(strings.TrimSpace(name))
					if n, err := object.Integer(v); !ok && err == nil {
						one, ok = object.Enum{N: n}, true
					}
					if !ok {
						return object.Thrown("[Net.ServicePointManager]::SecurityProtocol %s is not part of Mullion's PowerShell.", object.Text(v))
					}
					chosen |= one.N
				}

				if chosen != 0 && chosen&newer == 0 {
					return object.Thrown("[Net.ServicePointManager]::SecurityProtocol without Tls12 or Tls13 is not part of "+
						"Mullion's PowerShell: %s.", object.Text(v))
				}

				return nil
			},
		}, {
			Name: "ServerCertificateValidationCallback",
			Get: func(s *session.State, _ object.Value) (object.Value, error) {
				if callback := session.Keep[manager](s).callback; callback != nil {
					return callback, nil
				}
				return nil, nil
			},
			Keep: func(s *session.State, v object.Value) error {
				callback, ok := v.(*object.ScriptBlock)
				if v != nil && !ok {
					return object.CannotConvert(v, "System.Net.Security.RemoteCertificateValidationCallback")
				}
				session.Keep[manager](s).callback = callback
				return nil
			},
		}},
	}
}
