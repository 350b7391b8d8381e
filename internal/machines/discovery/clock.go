package discovery

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrClock says that this machine's clock makes the cluster's certificates invalid.
	ErrClock = errors.New("the clocks of this machine and of the server differ")
	// ErrExpired says that the server's certificate is not valid by the server's own clock either.
	ErrExpired = errors.New("the API server's certificate has expired or is not valid yet")
)

// clockBehind is how far a machine's clock may be behind the server's: as much as the control plane's certificates and
// those it signs are backdated (k8s.io/kubernetes/pkg/controller/certificates/authority, Backdate: 5 minutes).
const clockBehind = 5 * time.Minute

// checkClock finds a clock that is so far behind that nothing signed now is valid here yet.
func (c Config) checkClock(server time.Time) error {
	now := c.Now()
	if behind := server.Sub(now); !server.IsZero() && behind > clockBehind {
		// The server's clock is known in whole seconds only.
		return fmt.Errorf("compare the clocks: %w: this machine's is %s behind that of %s: here it is %s, there %s",
			ErrClock, behind.Round(time.Minute), c.Server, stamp(now), stamp(server))
	}
	return nil
}

// ExplainClock turns the error for a certificate that is not valid now into ErrClock if this machine's clock is the
// cause, or into ErrExpired. server is the time of the server's clock, the zero Time if it is not known. Other errors
// stay as they are.
func ExplainClock(err error, now, server time.Time) error {
	var invalid x509.CertificateInvalidError
	if err == nil || !errors.As(err, &invalid) || invalid.Reason != x509.Expired || errors.Is(err, ErrClock) ||
		errors.Is(err, ErrExpired) {
		return err
	}
	there, reason := "", ErrClock
	if !server.IsZero() {
		there = ", there " + stamp(server)
	}

	valid := ""
	if cert := invalid.Cert; cert != nil {
		valid = fmt.Sprintf(", the server's certificate is valid from %s to %s", stamp(cert.NotBefore),
			stamp(cert.NotAfter))
		if !server.IsZero() && (server.Before(cert.NotBefore) || server.After(cert.NotAfter)) {
			reason = ErrExpired
		}
	}

	return fmt.Errorf("%w: here it is %s%s%s (%w)", reason, stamp(now), there, valid, err)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
