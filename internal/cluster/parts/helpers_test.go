package parts

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/kubeclient/fake"
)

// eventually waits until something is so, as long as a test may take at most.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			t.Fatalf("it does not come to this: %s", what)
		case <-tick.C:
		}
	}
}

// watched waits until somebody watches a resource: a fake API does not tell a watcher of changes made before the watch.
func watched(t *testing.T, client *fake.Clientset, resource string) {
	t.Helper()
	eventually(t, resource+" are watched", func() bool {
		for _, action := range client.Actions() {
			if action.Matches("watch", resource) {
				return true
			}
		}
		return false
	})
}

// always returns a client.
func always(client kubeclient.Interface) func() (kubeclient.Interface, error) {
	return func() (kubeclient.Interface, error) { return client, nil }
}

var errNoClient = errors.New("the certificate is gone")

// never returns no client.
func never() (kubeclient.Interface, error) { return nil, errNoClient }

// journal is a log that can be read.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) log() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// count returns how many of its lines say that.
func (j *journal) count(what string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(j.text.String()), "\n")
	return len(slices.DeleteFunc(lines, func(line string) bool { return line == "" || !strings.Contains(line, what) }))
}

// nodeAt returns a node with an address, "" for none, and ranges of pod addresses.
func nodeAt(name, address string, cidrs ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDRs: cidrs}}
	if address != "" {
		n.Status.Addresses = []corev1.NodeAddress{
			{Type: corev1.NodeHostName, Address: name},
			{Type: corev1.NodeInternalIP, Address: address},
		}
	}
	return n
}

// certify writes a certificate and its key as a kubelet does; the certificate ends at ends.
func certify(t *testing.T, dir, file string, ends time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "system:node:win-1"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     ends,
	}

	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}

	text := slices.Concat(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// says checks that an error says each of these.
func says(t *testing.T, err error, all ...string) {
	t.Helper()
	for _, part := range all {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error is %v, which does not say %q", err, part)
		}
	}
}
