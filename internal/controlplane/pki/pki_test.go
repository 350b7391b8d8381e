package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/controlplane/pki"
)

func sans(extra ...string) pki.SANs {
	return pki.SANs{DNS: []string{"kubernetes", "localhost"}, IPs: append([]string{"127.0.0.1", "10.96.0.1"}, extra...)}
}

func ensure(t *testing.T, dir string, s pki.SANs, now time.Time) *pki.Bundle {
	t.Helper()
	b, err := pki.Ensure(dir, s, now)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// contents returns the text of every file below dir.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return files
}

// changed returns the certificates that differ.
func changed(before, after map[string]string) []string {
	var names []string
	for name := range after {
		if strings.HasSuffix(name, ".crt") && before[name] != after[name] {
			names = append(names, name)
		}
	}
	return names
}

func certOf(t *testing.T, path string) *x509.Certificate {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestEnsureMakesWhatServersAndClientsNeed(t *testing.T) {
	dir, now := filepath.Join(t.TempDir(), "pki"), time.Now()
	b := ensure(t, dir, sans("10.213.0.1"), now)

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(b.CAPEM())
	server := certOf(t, b.Cert(pki.APIServer))
	for _, host := range []string{"localhost", "kubernetes", "127.0.0.1", "10.96.0.1", "10.213.0.1"} {
		if _, err := server.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}

	if _, err := server.Verify(x509.VerifyOptions{Roots: roots, DNSName: "example.com"}); err == nil {
		t.Error("the server's certificate is good for a name it must not be good for")
	}
	client := certOf(t, b.Cert(pki.APIServerKubeletClient))
	if _, err := client.Verify(x509.VerifyOptions{Roots: roots}); err == nil {
		t.Error("a client's certificate passes as a server's")
	}

	front := certOf(t, b.Cert(pki.FrontProxyClient))
	if _, err := front.Verify(x509.VerifyOptions{
		Roots:     roots,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err == nil {
		t.Error("the front proxy's certificate is signed by the cluster's authority: it would pass as a user")
	}

	for _, name := range []string{
		pki.APIServer, pki.APIServerKubeletClient, pki.FrontProxyClient,
		pki.ControllerManagerServing, "clients/admin",
	} {
		if _, err := tls.LoadX509KeyPair(b.Cert(name), b.Key(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	for name := range contents(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v (%v)", name, info.Mode(), err)
		}
	}
}

func TestEnsureKeepsWhatIsGood(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	ensure(t, dir, sans(), now)
	before := contents(t, dir)
	reordered := pki.SANs{DNS: []string{"localhost", "kubernetes"}, IPs: []string{"10.96.0.1", "127.0.0.1"}}
	ensure(t, dir, reordered, now.Add(24*time.Hour))
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Fatalf("files changed (-before +after):\n%s", diff)
	}
}

func TestEnsureRenews(t *testing.T) {
	now := time.Now()

	tests := []struct {
		name   string
		spoil  func(t *testing.T, dir string)
		sans   pki.SANs
		now    time.Time
		want   []string // the certificates made anew; nil is all leaves
		leaves bool
	}{
		{name: "another-address", sans: sans("192.0.2.1"), now: now, want: []string{"apiserver.crt"}},
		{name: "near-the-end", sans: sans(), now: now.Add(330 * 24 * time.Hour), leaves: true},
		{
			name: "key-lost",
			sans: sans(),
			now:  now,
			want: []string{"clients/scheduler.crt"},
			spoil: func(t *testing.T, dir string) {
				t.Helper()
				if err := os.Remove(filepath.Join(dir, "clients/scheduler.key")); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "key-of-another",
			sans: sans(),
			now:  now,
			want: []string{"clients/scheduler.crt"},
			spoil: func(t *testing.T, dir string) {
				t.Helper()
				if err := os.Rename(filepath.Join(dir, "clients/admin.key"),
					filepath.Join(dir, "clients/scheduler.key")); err != nil {
					t.Fatal(err)
				}
				if err := os.Remove(filepath.Join(dir, "clients/admin.crt")); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "torn-file",
			sans: sans(),
			now:  now,
			want: []string{"apiserver.crt"},
			spoil: func(t *testing.T, dir string) {
				t.Helper()
				if err := os.Truncate(filepath.Join(dir, "apiserver.crt"), 100); err != nil {
					t.Fatal(err)
				}
			},
		},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			ensure(t, dir, sans(), now)
			before := contents(t, dir)
			if tt.spoil != nil {
				tt.spoil(t, dir)
			}

			b := ensure(t, dir, tt.sans, tt.now)
			after := contents(t, dir)
			got := changed(before, after)
			if tt.leaves {
				if len(got) != 15 {
					t.Fatalf("renewed %d, want all 15 leaves: %q", len(got), got)
				}
			} else {
				for _, want := range tt.want {
					if before[want] == after[want] {
						t.Errorf("%s was not renewed", want)
					}
				}
			}

			if before["ca.crt"] != after["ca.crt"] || before["sa.key"] != after["sa.key"] {
				t.Error("the authority or the service-account key was replaced")
			}
			if end := certOf(t, b.Cert(pki.APIServer)).NotAfter; end.Before(tt.now.Add(60 * 24 * time.Hour)) {
				t.Errorf("the certificate ends on %s", end)
			}
		})
	}
}

func TestEnsureRefuses(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(dir string) error
		now   time.Time
		want  string
	}{
		{
			name:  "authority-without-key",
			spoil: func(dir string) error { return os.Remove(filepath.Join(dir, "ca.key")) },
			now:   time.Now(),
			want:  "ca.key",
		},
		{
			name:  "authority-torn",
			spoil: func(dir string) error { return os.Truncate(filepath.Join(dir, "ca.crt"), 50) },
			now:   time.Now(),
			want:  "ca.crt",
		},
		{
			name:  "authority-over",
			spoil: func(string) error { return nil },
			now:   time.Now().Add(11 * 365 * 24 * time.Hour),
			want:  "it expired on",
		},
		{
			name:  "service-account-key-torn",
			spoil: func(dir string) error { return os.Truncate(filepath.Join(dir, "sa.key"), 20) },
			now:   time.Now(),
			want:  "sa.key",
		},
		{
			name:  "newer-layout",
			spoil: func(dir string) error { return os.WriteFile(filepath.Join(dir, "version"), []byte("99\n"), 0o600) },
			now:   time.Now(),
			want:  `layout "99"`,
		},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			ensure(t, dir, sans(), time.Now())
			if err := tt.spoil(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := pki.Ensure(dir, sans(), tt.now); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got error %v, want one with %q", err, tt.want)
			}
		})
	}

	if _, err := pki.Ensure(t.TempDir(), sans("not-an-address"), time.Now()); err == nil {
		t.Error("a bad address is no error")
	}
}

func TestKubeconfig(t *testing.T) {
	b := ensure(t, t.TempDir(), sans(), time.Now())
	path := filepath.Join(t.TempDir(), "admin.conf")
	if err := b.WriteKubeconfig(path, pki.Admin(), "mullion", "https://127.0.0.1:6443"); err != nil {
		t.Fatal(err)
	}

	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://127.0.0.1:6443" || string(config.CAData) != string(b.CAPEM()) {
		t.Errorf("host %q, or another authority", config.Host)
	}

	block, _ := pem.Decode(config.CertData)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{pki.AdminGroup}, cert.Subject.Organization); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}

	hash, err := b.CAHash()
	if err != nil || !strings.HasPrefix(hash, "sha256:") || len(hash) != 7+64 {
		t.Errorf("hash %q, %v", hash, err)
	}
}
