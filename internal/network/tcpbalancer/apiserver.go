package tcpbalancer

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
)

// answerBytes bounds the header of an API server's answer.
const answerBytes = 16 << 10

// CheckAPIServer returns a check of Kubernetes' API servers: each is asked for /readyz
// (https://kubernetes.io/docs/reference/using-api/health-checks/). One that does not tell strangers, with status 401 or
// 403, answers too. Its certificate is not looked at: clients see to that, and the check sends no secret.
func CheckAPIServer(dial func(ctx context.Context, network, address string) (net.Conn, error),
) func(ctx context.Context, address string) error {
	transport := &http.Transport{
		DialContext:            dial,
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: answerBytes,
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, // see above
	}

	return func(ctx context.Context, address string) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/readyz", http.NoBody)
		if err != nil {
			return err
		}
		answer, err := transport.RoundTrip(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()

		switch answer.StatusCode {
		case http.StatusOK, http.StatusUnauthorized, http.StatusForbidden:
			return nil
		}

		// without the words of answer.Status, which are the server's own and come on a terminal
		return fmt.Errorf("GET /readyz: %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	}
}
