package kubenode

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// Identity is a kubelet's client certificate, which the kubelet asks for and renews. Whoever uses it has the node's
// rights.
type Identity struct {
	// Dir is the machine's path of the kubelet's folder of certificates.
	Dir string
}

// Links to the newest certificate with its key: the client's, and the one that the kubelet serves with where the
// cluster signs serving certificates.
// https://github.com/kubernetes/client-go/blob/v0.36.3/util/certificate/certificate_store.go
const (
	currentCertificate = "kubelet-client-current.pem"
	currentServing     = "kubelet-server-current.pem"
)

// File returns the file with the certificate and its key, or the link to it.
func (i Identity) File() string { return filepath.Join(i.Dir, currentCertificate) }

// Read returns the certificate with its key (PEM). Only the name of the link's target is used, because the target is a
// path in the host.
func (i Identity) Read() ([]byte, error) { return i.read(currentCertificate) }

// Serving returns the certificate that the kubelet serves with, where the cluster signs that.
func (i Identity) Serving() (*x509.Certificate, error) {
	data, err := i.read(currentServing)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(data, data)
	if err != nil {
		return nil, fmt.Errorf("read the kubelet's serving certificate: %w", err)
	}
	return pair.Leaf, nil
}

func (i Identity) read(name string) ([]byte, error) {
	path := filepath.Join(i.Dir, name)
	if target, err := os.Readlink(path); err == nil {
		path = filepath.Join(i.Dir, filepath.Base(filepath.FromSlash(target)))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the kubelet's certificate: %w", err)
	}
	return data, nil
}

func (i Identity) load() (*tls.Certificate, error) {
	data, err := i.Read()
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(data, data)
	if err != nil {
		return nil, fmt.Errorf("read the kubelet's certificate: %w", err)
	}
	return &pair, nil
}

// Wait returns when the kubelet has a certificate.
func (i Identity) Wait(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := i.load()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-tick.C:
		}
	}
}

// Client returns a client of the API server at the URL server, with the kubelet's certificate, which is read anew for
// each connection. ca is the authority (PEM).
func (i Identity) Client(server string, ca []byte) (kubeclient.Interface, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("make a client by the kubelet's certificate: the authority has no certificate")
	}
	return kubeclient.NewForConfig(&rest.Config{
		Host:           server,
		QPS:            50,
		Burst:          100,
		UserAgent:      "mullion",
		WarningHandler: rest.NoWarnings{},
		Transport: &http.Transport{
			DialContext:       (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			ForceAttemptHTTP2: true,
			IdleConnTimeout:   90 * time.Second,
			TLSClientConfig: &tls.Config{
				RootCAs:              roots,
				MinVersion:           tls.VersionTLS12,
				GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return i.load() },
			},
		},
	})
}
