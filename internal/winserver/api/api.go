// Package api owns the few requests that a Windows Server which joins makes of the API server: with the bootstrap token
// first, then with the node's own certificate. It is no client of the whole API, whose types alone would make the agent
// three times as large.
package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"
)

// maxAnswer is how much of an answer is read, in bytes. requestTimeout bounds one request.
const (
	maxAnswer      = 8 << 20
	requestTimeout = 20 * time.Second
)

// Reasons why a request failed. Each is wrapped in an error that says more.
var (
	// ErrUnauthorized says that the API server does not take the token or certificate.
	ErrUnauthorized = errors.New("the API server does not accept this server's credentials")
	// ErrForbidden says that the one who asks may not.
	ErrForbidden = errors.New("the cluster does not allow it")
	// ErrNotFound says that there is no such object.
	ErrNotFound = errors.New("there is none")
	// ErrAnswer says that the answer is not one of an API server.
	ErrAnswer = errors.New("the answer is not that of an API server")
)

// Client asks the API server at one URL.
type Client struct {
	server, bearer string
	http           *http.Client
}

// ByToken returns a client that presents a bootstrap token. ca is the cluster's authority (PEM).
func ByToken(server string, ca []byte, token string) (*Client, error) {
	return newClient(server, ca, token, nil)
}

// ByCertificate returns a client that presents the certificate with its key in a file (PEM), which is read anew for
// each connection, since the kubelet renews it.
func ByCertificate(server string, ca []byte, file string) (*Client, error) {
	return newClient(server, ca, "", func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(data, data)
		return &pair, err
	})
}

func newClient(server string, ca []byte, bearer string,
	certificate func(*tls.CertificateRequestInfo) (*tls.Certificate, error),
) (*Client, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is not the URL of an API server", server)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("the cluster's authority has no certificate")
	}

	return &Client{server: server, bearer: bearer, http: &http.Client{
		Timeout: requestTimeout,
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{
				RootCAs: roots, MinVersion: tls.VersionTLS12, GetClientCertificate: certificate,
			},
			// The network of a Windows Server is gone for a moment when its card becomes a switch's.
			DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Node is what is read of a Node.
type Node struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		PodCIDR string `json:"podCIDR"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type    string `json:"type"`
			Status  string `json:"status"`
			Message string `json:"message"`
		} `json:"conditions"`
		NodeInfo struct {
			KubeletVersion string `json:"kubeletVersion"`
		} `json:"nodeInfo"`
	} `json:"status"`
}

// Ready returns nil if the node is Ready, or why it is not.
func (n Node) Ready() error {
	for _, c := range n.Status.Conditions {
		if c.Type != "Ready" {
			continue
		}
		if c.Status == "True" {
			return nil
		}
		return errors.New(c.Message)
	}
	return errors.New("its kubelet has not reported yet")
}

// Node reads a Node.
func (c *Client) Node(ctx context.Context, name string) (n Node, err error) {
	err = c.do(ctx, http.MethodGet, "/api/v1/nodes/"+url.PathEscape(name), nil, &n)
	if err != nil {
		return n, fmt.Errorf("read node %q: %w", name, err)
	}
	if n.Metadata.Name != name {
		return n, fmt.Errorf("read node %q: %w", name, ErrAnswer)
	}
	return n, nil
}

// DeleteNode deletes a Node.
func (c *Client) DeleteNode(ctx context.Context, name string) error {
	if err := c.do(ctx, http.MethodDelete, "/api/v1/nodes/"+url.PathEscape(name), nil, nil); err != nil {
		return fmt.Errorf("delete node %q: %w", name, err)
	}
	return nil
}

// ConfigMap reads the data of a ConfigMap.
func (c *Client) ConfigMap(ctx context.Context, namespace, name string) (map[string]string, error) {
	var object struct {
		Data map[string]string `json:"data"`
	}
	path := "/api/v1/namespaces/" + url.PathEscape(namespace) + "/configmaps/" + url.PathEscape(name)
	if err := c.do(ctx, http.MethodGet, path, nil, &object); err != nil {
		return nil, fmt.Errorf("read ConfigMap %q of %s: %w", name, namespace, err)
	}
	return object.Data, nil
}

// Version is that of the API server, for example "v1.37.1".
func (c *Client) Version(ctx context.Context) (string, error) {
	var v struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := c.do(ctx, http.MethodGet, "/version", nil, &v); err != nil {
		return "", fmt.Errorf("read the API server's version: %w", err)
	}
	return v.GitVersion, nil
}

// Allowed reports whether the client may do something everywhere in the cluster, as the API server says.
func (c *Client) Allowed(ctx context.Context, verb, group, resource string) (bool, error) {
	review := map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]string{
			"verb": verb, "group": group, "resource": resource,
		}},
	}

	var answer struct {
		Status struct {
			Allowed bool `json:"allowed"`
		} `json:"status"`
	}
	err := c.do(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review, &answer)
	if err != nil {
		return false, fmt.Errorf("ask what this server may do: %w", err)
	}

	return answer.Status.Allowed, nil
}

func (c *Client) do(ctx context.Context, method, path string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}

	req, err := http.NewRequestWithContext(ctx, method, c.server+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "mullion-agent")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}

	if c.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+c.bearer)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}

	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return ErrUnauthorized
	case resp.StatusCode == http.StatusForbidden:
		return ErrForbidden
	case resp.StatusCode == http.StatusNotFound:
		return ErrNotFound
	case resp.StatusCode/100 != 2:
		return fmt.Errorf("the API server answers %s", resp.Status)
	case into == nil:
		return nil
	}

	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return nil
}
