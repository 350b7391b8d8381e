package bootstrap

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/base/kubeclient"
)

// DefaultTokenLife is how long a bootstrap token is valid; kubeadm's default.
const DefaultTokenLife = 24 * time.Hour

// tokenLeft is how long a token must still be valid to be used again.
const tokenLeft = time.Hour

// Token is a bootstrap token: an ID, which is no secret, and a secret.
// https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/#token-format
type Token struct {
	ID     string
	Secret string
	Ends   time.Time
}

// String returns the token as it is sent, "id.secret".
func (t Token) String() string { return t.ID + "." + t.Secret }

// NewToken makes a token for nodes to join, which is valid for life, and puts it into the API. The controller-manager's
// tokencleaner removes it when it expires.
func NewToken(ctx context.Context, client kubeclient.Interface, life time.Duration, description string) (Token, error) {
	id, err := randomText(6)
	if err != nil {
		return Token{}, err
	}
	secret, err := randomText(16)
	if err != nil {
		return Token{}, err
	}
	return CreateToken(ctx, client, Token{ID: id, Secret: secret}, life, description)
}

// CreateToken puts a token for nodes to join into the API. With a life of 0 it never expires.
func CreateToken(ctx context.Context, client kubeclient.Interface, t Token, life time.Duration,
	description string,
) (Token, error) {
	object := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + t.ID, Namespace: metav1.NamespaceSystem},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id":                       t.ID,
			"token-secret":                   t.Secret,
			"usage-bootstrap-authentication": "true",
			"usage-bootstrap-signing":        "true",
			"auth-extra-groups":              tokenGroup,
			"description":                    description,
		},
	}

	if life != 0 {
		t.Ends = time.Now().Add(life).UTC().Truncate(time.Second)
		object.StringData["expiration"] = t.Ends.Format(time.RFC3339)
	}
	if _, err := client.CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, object,
		metav1.CreateOptions{}); err != nil {
		return Token{}, fmt.Errorf("create bootstrap token: %w", err)
	}

	return t, nil
}

// RemoveToken removes a token from the API at once; a missing token is no error.
func RemoveToken(ctx context.Context, client kubeclient.Interface, id string) error {
	err := client.CoreV1().Secrets(metav1.NamespaceSystem).Delete(ctx, "bootstrap-token-"+id, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove bootstrap token %q: %w", id, err)
	}
	return nil
}

// EnsureKubeconfig makes sure that the file at path (mode 0600) is a kubeconfig with a bootstrap token that is valid
// for at least an hour: the file's present token, or else a new one with DefaultTokenLife. A replaced token is removed.
func EnsureKubeconfig(ctx context.Context, client kubeclient.Interface, path, server string, ca []byte) (Token, error) {
	if old, ok := readToken(path); ok {
		left, err := tokenState(ctx, client, old)
		if err != nil {
			return Token{}, err
		}
		if left.Ends.After(time.Now().Add(tokenLeft)) && sameServer(path, server, ca) {
			return left, nil
		}

		if err := RemoveToken(ctx, client, old.ID); err != nil {
			return Token{}, err
		}
	}

	t, err := NewToken(ctx, client, DefaultTokenLife, "nodes of this machine")
	if err != nil {
		return Token{}, err
	}
	config := TokenKubeconfig(t, server, ca)
	text, err := clientcmd.Write(*config)
	if err != nil {
		return Token{}, fmt.Errorf("encode kubeconfig %q: %w", path, err)
	}

	return t, atomicfile.Write(path, text, 0o600)
}

// TokenKubeconfig returns the configuration with which a kubelet bootstraps.
func TokenKubeconfig(t Token, server string, ca []byte) *clientcmdapi.Config {
	const name = "bootstrap"
	return &clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: server, CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: t.String()}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}
}

// readToken returns the token in a kubeconfig, and false if the file is missing or damaged.
func readToken(path string) (Token, bool) {
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return Token{}, false
	}
	for _, auth := range config.AuthInfos {
		if m := regexp.MustCompile(`^([a-z0-9]{6})\.([a-z0-9]{16})$`).FindStringSubmatch(auth.Token); m != nil {
			return Token{ID: m[1], Secret: m[2]}, true
		}
	}
	return Token{}, false
}

func sameServer(path, server string, ca []byte) bool {
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return false
	}
	for _, c := range config.Clusters {
		if c.Server != server || string(c.CertificateAuthorityData) != string(ca) {
			return false
		}
	}
	return true
}

// tokenState returns t with its expiry from the API, or without one if the token is gone or has another secret.
func tokenState(ctx context.Context, client kubeclient.Interface, t Token) (Token, error) {
	object, err := client.CoreV1().Secrets(metav1.NamespaceSystem).Get(ctx, "bootstrap-token-"+t.ID,
		metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return t, nil
	}
	if err != nil {
		return t, fmt.Errorf("get bootstrap token %q: %w", t.ID, err)
	}

	if string(object.Data["token-secret"]) != t.Secret {
		return t, nil
	}

	ends, err := time.Parse(time.RFC3339, string(object.Data["expiration"]))
	if err != nil {
		return t, nil //nolint:nilerr // a token that somebody has damaged is replaced
	}
	t.Ends = ends
	return t, nil
}

// randomText returns n characters of a-z0-9, evenly distributed.
func randomText(n int) (string, error) {
	const letters, fair = "abcdefghijklmnopqrstuvwxyz0123456789", 256 / 36 * 36
	text := make([]byte, 0, n)
	for b := make([]byte, 1); len(text) < n; {
		if _, err := rand.Read(b); err != nil {
			return "", fmt.Errorf("make token: %w", err)
		}
		if int(b[0]) < fair {
			text = append(text, letters[int(b[0])%len(letters)])
		}
	}
	return string(text), nil
}
