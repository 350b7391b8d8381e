// Package discovery owns how a machine that wants to join a cluster finds out, from an address, a bootstrap token and
// the hash of an authority, where the cluster's API server is and which authority signs its certificate. It follows
// kubeadm's token-based discovery:
// https://kubernetes.io/docs/reference/setup-tools/kubeadm/kubeadm-join/#token-based-discovery-with-ca-pinning
//
// An answer that is read before the authority is known may come from anybody, so it is used only if it is signed with
// the token and its authority's hash is the given one:
//
//	kube-public/cluster-info ─▶ signed with the token? ─▶ authority's hash as told? ─▶ read again, trusting that authority alone
package discovery

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/cluster-bootstrap/token/jws"
)

// Reasons why discovery ends. Each is wrapped in an error that says more.
var (
	// ErrUnreachable says that nobody answers at the address.
	ErrUnreachable = errors.New("the server cannot be reached")
	// ErrNotReady says that the server that answers is not, or not yet, that of a cluster that can be joined.
	ErrNotReady = errors.New("the server is not ready")
	// ErrToken says that the cluster does not know the token, or no longer.
	ErrToken = errors.New("the token is unknown or has expired")
	// ErrSecret says that the cluster knows the token's name with another secret.
	ErrSecret = errors.New("the token's secret is not the one that the cluster knows")
	// ErrAuthority says that the hash of the cluster's authority is not one of Config.Hashes.
	ErrAuthority = errors.New("the cluster's authority is another one")
)

// pause is the time between two tries.
const pause = 300 * time.Millisecond

// tokenPatience is how long cluster-info may lack the token's signature while it has others: the bootstrap signer signs
// for a new token within a second. Without any signature it may be that the signer does not run yet: after
// `kubeadm init` that takes ten seconds and more.
const tokenPatience = 5 * time.Second

// errUnsigned says that cluster-info has no signature at all.
var errUnsigned = errors.New("cluster-info is not signed for any token")

// maxAnswer is how much of an answer is read, in bytes.
const maxAnswer = 1 << 20

// Token is a bootstrap token, split at its dot.
type Token struct{ ID, Secret string }

// String returns the token as it is sent.
func (t Token) String() string { return t.ID + "." + t.Secret }

// ParseToken reads "abcdef.0123456789abcdef".
// https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/#token-format
func ParseToken(text string) (Token, error) {
	m := regexp.MustCompile(`^([a-z0-9]{6})\.([a-z0-9]{16})$`).FindStringSubmatch(text)
	if m == nil {
		return Token{}, errors.New(
			`a token is six characters, a dot, and sixteen characters, of a-z and 0-9, such as "abcdef.0123456789abcdef"`)
	}
	return Token{ID: m[1], Secret: m[2]}, nil
}

// ParseHash checks an authority's hash, "sha256:" and 64 hexadecimal digits, and returns it in lower case.
func ParseHash(text string) (string, error) {
	hash := strings.ToLower(text)
	if !regexp.MustCompile(`^sha256:[0-9a-f]{64}$`).MatchString(hash) {
		return "", errors.New(`an authority's hash is "sha256:" and 64 hexadecimal digits`)
	}
	return hash, nil
}

// Config is what the machine that joins knows of the cluster.
type Config struct {
	// Server is host:port.
	Server string
	Token  Token
	// Hashes are the hashes of trusted authorities; empty: whoever knows the token is trusted.
	Hashes []string
	// Patience is how long to go on trying while the server cannot be reached or is not ready.
	Patience time.Duration
	// Waits is told once, if it is not nil, that Find waits for the cluster to sign cluster-info.
	Waits func()
	// Now is the clock; nil is time.Now. Dial makes connections; nil is net.Dialer's DialContext.
	Now  func() time.Time
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Cluster is the result of Find.
type Cluster struct {
	// Server is the API server's URL, as the cluster itself gives it.
	Server string
	// CA is the authority's certificate (PEM).
	CA []byte
}

// Find asks the server for the cluster. It returns an error of this package, an error that wraps one, or the context's
// error.
func Find(ctx context.Context, c Config) (Cluster, error) {
	if c.Now == nil {
		c.Now = time.Now
	}

	started := time.Now()
	for told := false; ; {
		found, err := c.find(ctx)
		patience := c.Patience
		switch {
		case err == nil:
			return found, nil
		case errors.Is(err, errUnsigned):
			if !told && c.Waits != nil && patience > 0 {
				c.Waits()
			}
			told = true

		case errors.Is(err, ErrToken):
			patience = min(patience, tokenPatience)
		case !errors.Is(err, ErrUnreachable) && !errors.Is(err, ErrNotReady):
			return found, err
		}
		if time.Since(started)+pause > patience {
			return found, err
		}

		select {
		case <-ctx.Done():
			return found, errors.Join(err, ctx.Err())
		case <-time.After(pause):
		}
	}
}

func (c Config) find(ctx context.Context) (Cluster, error) {
	// Without verification of the server: the answer's signature and hash are checked instead.
	first, err := c.clusterInfo(ctx, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}) // see above
	if err != nil {
		return Cluster{}, err
	}
	if err := c.checkClock(first.date); err != nil {
		return Cluster{}, err
	}

	found, err := c.verify(first)
	if err != nil {
		return Cluster{}, err
	}

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(found.CA)
	second, err := c.clusterInfo(ctx, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
	if err != nil {
		return Cluster{}, c.explain(err, first.date)
	}

	again, err := c.verify(second)
	if err != nil {
		return Cluster{}, err
	}
	if again.Server != found.Server || string(again.CA) != string(found.CA) {
		return Cluster{}, fmt.Errorf("read the cluster's whereabouts again: %w", ErrAuthority)
	}
	return again, nil
}

// answer is a cluster-info, with the time of the server's clock.
type answer struct {
	data map[string]string
	date time.Time
}

// clusterInfo reads the ConfigMap kube-public/cluster-info, which everybody may read.
func (c Config) clusterInfo(ctx context.Context, conf *tls.Config) (answer, error) {
	if c.Now != nil {
		conf.Time = c.Now
	}

	client := http.Client{
		Timeout: 10 * time.Second,
		Transport: &http.Transport{
			TLSClientConfig:   conf,
			DialContext:       c.Dial,
			DisableKeepAlives: true,
			ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}

	to := "https://" + c.Server + "/api/v1/namespaces/kube-public/configmaps/cluster-info"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to, nil)
	if err != nil {
		return answer{}, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, c.transportError(err)
	}

	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return answer{}, c.transportError(err)
	}
	if resp.StatusCode != http.StatusOK {
		return answer{}, fmt.Errorf("ask %s for cluster-info: %w: it answers %s", c.Server, ErrNotReady, resp.Status)
	}

	var object struct {
		Data map[string]string `json:"data"`
	}
	if err := json.Unmarshal(body, &object); err != nil || object.Data["kubeconfig"] == "" {
		return answer{}, fmt.Errorf("ask %s for cluster-info: %w: its answer is not a cluster's", c.Server, ErrNotReady)
	}
	date, _ := http.ParseTime(resp.Header.Get("Date")) // zero without a valid Date
	return answer{data: object.Data, date: date}, nil
}

// transportError distinguishes ErrUnreachable from ErrNotReady: a server that answers, but not, or not yet, with TLS.
func (c Config) transportError(err error) error {
	var dial *net.OpError
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	var timeout net.Error
	switch {
	case isCertificate(err):
		return fmt.Errorf("ask %s for cluster-info: %w", c.Server, err)
	case errors.As(err, &dial) && dial.Op == "dial", errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("ask %s for cluster-info: %w: %w", c.Server, ErrUnreachable, err)
	}
	return fmt.Errorf("ask %s for cluster-info: %w: %w", c.Server, ErrNotReady, err)
}

func isCertificate(err error) bool {
	var verification *tls.CertificateVerificationError
	return errors.As(err, &verification)
}

// explain turns the error for a certificate that is not accepted into one about the clock, if that is the cause.
func (c Config) explain(err error, server time.Time) error {
	if clock := ExplainClock(err, c.Now(), server); errors.Is(clock, ErrClock) || errors.Is(clock, ErrExpired) {
		return clock
	}
	if isCertificate(err) {
		return fmt.Errorf("%w: %w", ErrAuthority, err)
	}
	return err
}

// signaturePrefix begins the keys of cluster-info that have signatures, one for each token
// (https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/cluster-bootstrap/token/api/types.go).
const signaturePrefix = "jws-kubeconfig-"

// signed reports whether cluster-info has a signature, for whichever token.
func signed(data map[string]string) bool {
	for key := range data {
		if strings.HasPrefix(key, signaturePrefix) {
			return true
		}
	}
	return false
}

// verify checks the signature and the authority's hash.
func (c Config) verify(a answer) (Cluster, error) {
	text := a.data["kubeconfig"]
	signature, ok := a.data[signaturePrefix+c.Token.ID]
	if !ok {
		err := ErrToken
		if !signed(a.data) {
			err = fmt.Errorf("%w: %w", ErrToken, errUnsigned)
		}
		return Cluster{}, fmt.Errorf("check token %q: %w", c.Token.ID, err)
	}

	if !jws.DetachedTokenIsValid(signature, text, c.Token.ID, c.Token.Secret) {
		return Cluster{}, fmt.Errorf("check token %q: %w", c.Token.ID, ErrSecret)
	}
	config, err := clientcmd.Load([]byte(text))
	if err != nil {
		return Cluster{}, fmt.Errorf("read cluster-info: %w", err)
	}

	if len(config.Clusters) != 1 {
		return Cluster{}, fmt.Errorf("read cluster-info: it names %d clusters, not one", len(config.Clusters))
	}

	for _, cluster := range config.Clusters {
		hashes, err := Hashes(cluster.CertificateAuthorityData)
		if err != nil {
			return Cluster{}, fmt.Errorf("read cluster-info: %w", err)
		}
		known := slices.ContainsFunc(hashes, func(h string) bool { return slices.Contains(c.Hashes, h) })
		if len(c.Hashes) > 0 && !known {
			return Cluster{}, fmt.Errorf("check the authority of %s: %w: its hash is %s", c.Server, ErrAuthority,
				strings.Join(hashes, ", "))
		}

		if server, err := url.Parse(cluster.Server); err != nil || server.Scheme != "https" || server.Host == "" {
			return Cluster{}, fmt.Errorf("read cluster-info: %q is not the URL of an API server", cluster.Server)
		}
		return Cluster{Server: cluster.Server, CA: cluster.CertificateAuthorityData}, nil
	}

	return Cluster{}, nil
}

// Hashes returns the pins of the certificates in ca (PEM): "sha256:" and the hash of the public key in its DER form
// (SubjectPublicKeyInfo), as kubeadm's --discovery-token-ca-cert-hash has it.
func Hashes(ca []byte) ([]string, error) {
	var hashes []string
	for block, rest := pem.Decode(ca); block != nil; block, rest = pem.Decode(rest) {
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read the authority's certificate: %w", err)
		}
		sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
		hashes = append(hashes, "sha256:"+hex.EncodeToString(sum[:]))
	}
	if len(hashes) == 0 {
		return nil, errors.New("read the authority's certificate: there is none")
	}
	return hashes, nil
}
