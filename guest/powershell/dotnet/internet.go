package dotnet

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"

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
	case unknown:
		return object.Raise(object.WebException, "The remote name could not be resolved: '"+u.Hostname()+"'")
	case isNetwork(err):
		return object.Raise(object.WebException, "Unable to connect to the remote server")
	}

	return object.Raise(object.WebException, "The underlying connection was closed: "+err.Error()+".")
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
		}},
	}
}
