//go:build cluster

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/process/proc"
)

// clocks joins over a server in front of the real one. That server has another clock, which shows in its answers and in
// its certificate, signed by the cluster's own authority. The join must say what each clock shows, and leave nothing
// behind.
func clocks(t *testing.T, server, other cluster, with func(flag, value string) []string) {
	t.Helper()
	now := time.Now()
	hour := time.Hour
	stamp := func(at time.Time) string { return at.UTC().Format("2006-01-02T") } // minutes pass
	for n, c := range []struct {
		name        string
		clock       time.Duration // the server's, ahead of this machine's
		from, until time.Duration // what its certificate is valid for
		code        int
		says        []string
	}{
		{
			"behind", 25 * hour, -hour, hour, exit.Requirement,
			[]string{
				"this machine's is 25h0m0s behind", "here it is " + stamp(now),
				"there " + stamp(now.Add(25*hour)),
			},
		},
		{
			"not-yet", 4 * time.Minute, 3 * time.Minute, hour, exit.Requirement,
			[]string{"clocks of this machine and of the server differ", "certificate is valid from"},
		},
		{
			"ahead", -26 * hour, -27 * hour, -25 * hour, exit.Requirement,
			[]string{
				"clocks of this machine and of the server differ", "here it is " + stamp(now),
				"there " + stamp(now.Add(-26*hour)),
			},
		},
		{"expired", 0, -2 * hour, -hour, exit.NotReady, []string{"the API server's certificate has expired"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := fmt.Sprintf("198.51.100.1:%d", 7443+n)
			beside(t, server, address, signed(t, server.data, now.Add(c.from), now.Add(c.until)), c.clock)
			for _, says := range c.says {
				other.refused(t, c.code, says, with("--server", address)...)
			}

			if c.name == "ahead" { // a join by a file makes no discovery
				admin := filepath.Join(t.TempDir(), "admin.conf")
				config, err := clientcmd.LoadFromFile(server.kubeconfig)
				if err != nil {
					t.Fatal(err)
				}
				for _, cluster := range config.Clusters {
					cluster.Server = "https://" + address
				}

				if err := clientcmd.WriteToFile(*config, admin); err != nil {
					t.Fatal(err)
				}
				other.refused(t, c.code, "clocks of this machine and of the server differ", "join", "--kubeconfig",
					admin)
			}
		})
	}
}

// signed returns a serving certificate for the server's machine, signed by the authority of the cluster in a data
// folder.
func signed(t *testing.T, data string, from, until time.Time) tls.Certificate {
	t.Helper()
	authority, err := tls.LoadX509KeyPair(filepath.Join(data, "pki", "ca.crt"), filepath.Join(data, "pki", "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(from.Unix()),
		NotBefore:    from,
		NotAfter:     until,
		IPAddresses:  []net.IP{net.ParseIP("198.51.100.1")},
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, authority.Leaf, &key.PublicKey, authority.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}

	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// beside passes on what the API server of the server's machine answers, with that certificate and with dates that much
// later.
func beside(t *testing.T, server cluster, address string, pair tls.Certificate, later time.Duration) {
	t.Helper()
	var l net.Listener
	err := netns.Do(server.netns, func() (err error) { l, err = net.Listen("tcp", address); return err })
	if err != nil {
		t.Fatal(err)
	}

	to := &url.URL{Scheme: "https", Host: "198.51.100.1:6443"}
	front := &http.Server{
		ReadHeaderTimeout: time.Minute,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		Handler: &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
			Transport: &http.Transport{
				DialContext: proc.DialIn(server.netns),
				TLSClientConfig: &tls.Config{
					InsecureSkipVerify: true,
					MinVersion:         tls.VersionTLS12,
				}, // the test's own server
			},
			ModifyResponse: func(r *http.Response) error {
				r.Header.Set("Date", time.Now().Add(later).UTC().Format(http.TimeFormat))
				return nil
			},
		},
	}

	done := make(chan error, 1)
	go func() { done <- front.ServeTLS(l, "", "") }()
	t.Cleanup(func() {
		if err := errors.Join(front.Close(), <-done); !errors.Is(err, http.ErrServerClosed) &&
			!errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	})
}
