package join

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/machines/discovery"
)

// The kubeconfig says where nodes reach the API server, unless the person says otherwise. A server that only this
// machine reaches, or whose certificate nodes could not check, is refused.
func TestClusterOf(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, []byte("authority"), 0o600); err != nil {
		t.Fatal(err)
	}

	inFile := rest.TLSClientConfig{CAFile: ca}
	for name, tt := range map[string]struct {
		host, server string
		tls          rest.TLSClientConfig
		want, refuse string
	}{
		"authority-in-a-file": {"https://192.0.2.1:6443", "", inFile, "https://192.0.2.1:6443", ""},
		"authority-inside": {
			"https://api.example", "",
			rest.TLSClientConfig{CAData: []byte("authority"), CAFile: "/none"},
			"https://api.example", "",
		},
		"named-server":    {"https://127.0.0.1:6443", "192.0.2.1:6443", inFile, "https://192.0.2.1:6443", ""},
		"loopback":        {"https://127.0.0.1:6443", "", inFile, "", "127.0.0.1:6443; name it with --server"},
		"loopback-6":      {"https://[::1]:6443", "", inFile, "", "[::1]:6443; name it with --server"},
		"everywhere":      {"https://0.0.0.0:6443", "", inFile, "", "0.0.0.0:6443; name it with --server"},
		"localhost":       {"https://localhost:6443", "", inFile, "", "localhost:6443; name it with --server"},
		"named-loopback":  {"https://192.0.2.1:6443", "localhost:6443", inFile, "", "name it with --server"},
		"not-https":       {"http://192.0.2.1:8080", "", inFile, "", "is not the URL of an API server"},
		"no-host":         {"https://:6443", "", inFile, "", "is not the URL of an API server"},
		"no-url":          {"https://[", "", inFile, "", "is not the URL of an API server"},
		"no-authority":    {"https://192.0.2.1:6443", "", rest.TLSClientConfig{}, "", "names no certificate authority"},
		"authority-gone":  {"https://192.0.2.1:6443", "", rest.TLSClientConfig{CAFile: ca + "s"}, "", "no such file"},
		"authority-empty": {"https://192.0.2.1:6443", "", rest.TLSClientConfig{CAFile: os.DevNull}, "", "names no"},
	} {
		t.Run(name, func(t *testing.T) {
			j := &joining{Options: Options{Server: tt.server}}
			found, err := j.clusterOf(&rest.Config{Host: tt.host, TLSClientConfig: tt.tls})
			if tt.refuse != "" {
				if !errors.Is(err, ErrKubeconfig) {
					t.Errorf("got %v", err)
				}
				says(t, err, tt.refuse)
				return
			}

			if err != nil || found.Server != tt.want || string(found.CA) != "authority" {
				t.Errorf("found %s, %q: %v", found.Server, found.CA, err)
			}
		})
	}
}

// byFile returns a join by a kubeconfig whose user has that token.
func byFile(t *testing.T, a *api, token string) (*joining, *story) {
	t.Helper()
	config := bootstrap.TokenKubeconfig(bootstrap.Token{}, a.url, a.ca)
	config.AuthInfos["bootstrap"].Token = token
	path := filepath.Join(t.TempDir(), "config")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	j, _, s := joins(t, a)
	j.Kubeconfig = path
	j.Server = "192.0.2.1:6443"
	j.client = nil
	j.token = bootstrap.Token{}
	j.found = discovery.Cluster{}
	return j, s
}

// tokens returns the names of the bootstrap tokens in the API.
func tokens(t *testing.T, a *api) []corev1.Secret {
	t.Helper()
	all, err := a.CoreV1().Secrets(metav1.NamespaceSystem).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return all.Items
}

// A join by a kubeconfig with a bootstrap token uses that token: nothing is made in the cluster, and nothing removed.
func TestReachByTokenInFile(t *testing.T) {
	a := newAPI(t)
	j, s := byFile(t, a, theToken.String())
	if err := j.reach(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := j.dropToken(t.Context()); err != nil {
		t.Fatal(err)
	}

	if j.admin || j.administrator() != nil || j.token.String() != theToken.String() || len(a.said("")) > 0 {
		t.Errorf("administrator: %v, token %s; it asked %q", j.admin, j.token, a.said(""))
	}
	if !slices.Equal(s.steps, []string{"read of the cluster at https://192.0.2.1:6443"}) {
		t.Errorf("it said %q", s.steps)
	}
}

// A join by an administrator's kubeconfig makes a token for the kubelets, and removes it at its end, also when the
// person no longer waits.
func TestReachByAdministrator(t *testing.T) {
	a := newAPI(t)
	j, s := byFile(t, a, "jane")
	if err := j.reach(t.Context()); err != nil {
		t.Fatal(err)
	}
	made := tokens(t, a)
	if len(made) != 1 || made[0].Name != "bootstrap-token-"+j.token.ID || made[0].StringData["token-secret"] != j.token.Secret {
		t.Fatalf("the token is %s, and the API has %+v", j.token, made)
	}

	if ends := time.Until(j.token.Ends); ends > joinTokenLife || ends < joinTokenLife-time.Minute {
		t.Errorf("the token ends in %s", ends)
	}
	want := []string{"reached the cluster at " + a.url}
	if !j.admin || j.administrator() != j.client || !slices.Equal(s.steps, want) {
		t.Errorf("administrator: %v; it said %q", j.admin, s.steps)
	}

	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 { // one that is gone is no error
		if err := j.dropToken(over); err != nil || len(tokens(t, a)) > 0 {
			t.Errorf("after the join the API has %d tokens: %v", len(tokens(t, a)), err)
		}
	}
}

// A user who is no administrator, a server that does not work, and one that is not there give different errors.
func TestReachIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		answer error
		want   error // and none of the others
		says   string
	}{
		"forbidden": {forbidden("secrets", ""), ErrNotAllowed, "make a token to join by"},
		"unknown":   {apierrors.NewUnauthorized("who is jane?"), ErrNotAllowed, "who is jane?"},
		"at-fault":  {silent(), nil, "make a token to join by: create bootstrap token: etcd has no leader"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t)
			j, s := byFile(t, a, "jane")
			a.refuse("jane", "create", "secrets", tt.answer)
			err := j.reach(t.Context())
			says(t, err, tt.says)
			for _, reason := range []error{ErrNotAllowed, ErrKubeconfig, discovery.ErrUnreachable} {
				if errors.Is(err, reason) != errors.Is(reason, tt.want) {
					t.Errorf("%v is %v", err, reason)
				}
			}

			if len(s.steps) > 0 {
				t.Errorf("it said %q", s.steps)
			}
		})
	}

	a := newAPI(t)
	a.close()
	j, _ := byFile(t, a, "jane")
	if err := j.reach(t.Context()); !errors.Is(err, discovery.ErrUnreachable) || errors.Is(err, ErrNotAllowed) {
		t.Errorf("nobody there: %v", err)
	}
}

// A file that is no kubeconfig is named in the error, and the cluster is not asked.
func TestReachByFileThatIsNone(t *testing.T) {
	a := newAPI(t)
	for name, spoil := range map[string]func(path string) error{
		"gone":        os.Remove,
		"no-yaml":     func(path string) error { return os.WriteFile(path, []byte("\t{"), 0o600) },
		"no-clusters": func(path string) error { return os.WriteFile(path, []byte("kind: Config\napiVersion: v1\n"), 0o600) },
		"no-authority": func(path string) error {
			text, err := os.ReadFile(path)
			lines := slices.DeleteFunc(strings.Split(string(text), "\n"),
				func(line string) bool { return strings.Contains(line, "certificate-authority-data") })
			return errors.Join(err, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			j, _ := byFile(t, a, "jane")
			if err := spoil(j.Kubeconfig); err != nil {
				t.Fatal(err)
			}
			err := j.reach(t.Context())
			if !errors.Is(err, ErrKubeconfig) || len(a.said("")) > 0 {
				t.Errorf("got %v; it asked %q", err, a.said(""))
			}
			says(t, err, j.Kubeconfig)
		})
	}
}
