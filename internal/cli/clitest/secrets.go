package clitest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// Secrets is an API server that has Secrets and nothing else.
type Secrets struct {
	// URL is where it answers.
	URL  string
	Kept map[string]corev1.Secret
	// Silent is the method of requests that get no answer.
	Silent string

	t *testing.T
}

// ServeSecrets starts it.
func ServeSecrets(t *testing.T) *Secrets {
	t.Helper()
	s := &Secrets{t: t, Kept: map[string]corev1.Secret{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// ServeSecrets starts an API server that has Secrets, and makes it the machine's.
func (m *Machine) ServeSecrets() *Secrets {
	m.T.Helper()
	s := ServeSecrets(m.T)
	m.Write(m.Paths.AdminKubeconfig(), Kubeconfig(s.URL))
	return s
}

// ServeHTTP answers a request.
func (s *Secrets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const all = "/api/v1/namespaces/kube-system/secrets"
	name := path.Base(r.URL.Path)

	_, there := s.Kept[name]
	switch {
	case r.Method == s.Silent:
		if _, err := io.Copy(io.Discard, r.Body); err != nil { // before that, nobody is seen to go
			s.t.Error(err)
		}
		<-r.Context().Done() // until nobody waits any more

	case r.Method == http.MethodGet && r.URL.Path == all:
		list := corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
		for _, secret := range s.Kept {
			list.Items = append(list.Items, secret)
		}
		s.answer(w, http.StatusOK, list)

	case r.Method == http.MethodPost && r.URL.Path == all:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			s.t.Error(err)
		}

		var secret corev1.Secret
		if _, _, err := kubeclient.Codecs().UniversalDeserializer().Decode(body, nil, &secret); err != nil {
			s.t.Error(err)
		}
		if _, there := s.Kept[secret.Name]; there {
			s.refuse(w, http.StatusConflict, metav1.StatusReasonAlreadyExists)
			return
		}

		secret.APIVersion = "v1"
		secret.Kind = "Secret"
		secret.Data = map[string][]byte{}
		for key, value := range secret.StringData {
			secret.Data[key] = []byte(value)
		}

		s.Kept[secret.Name] = secret
		s.answer(w, http.StatusCreated, secret)

	case r.Method == http.MethodDelete && there:
		delete(s.Kept, name)
		s.answer(w, http.StatusOK, metav1.Status{Status: metav1.StatusSuccess})
	default:
		s.refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	}
}

func (s *Secrets) refuse(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	status := metav1.Status{
		Status:  metav1.StatusFailure,
		Reason:  reason,
		Message: string(reason),
		Code:    int32(code),
	}
	status.APIVersion, status.Kind = "v1", "Status"
	s.answer(w, code, status)
}

func (s *Secrets) answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.t.Error(err)
	}
}
