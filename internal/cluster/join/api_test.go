package join

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/machines/discovery"
)

// theToken is the bootstrap token of these tests.
var theToken = bootstrap.Token{ID: "abcdef", Secret: "0123456789abcdef"}

// api is upstream's fake of an API, which answers over HTTPS too, for code that makes its clients itself.
type api struct {
	*fake.Clientset
	url   string
	ca    []byte
	close func() // ends it: nobody listens any more

	mu    sync.Mutex
	user  string   // who asks over HTTPS now: a certificate's name, or a token; "" for the user of the Clientset itself
	asked []string // over HTTPS: "VERB RESOURCE/NAME by USER"
}

// newAPI returns an API with these objects.
func newAPI(t *testing.T, objects ...runtime.Object) *api {
	t.Helper()
	a := &api{Clientset: fake.NewClientset(objects...)}
	server := httptest.NewUnstartedServer(a)
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	a.url, a.close = server.URL, server.Close
	a.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return a
}

// ServeHTTP implements http.Handler.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.user = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if certs := r.TLS.PeerCertificates; len(certs) > 0 {
		a.user = certs[0].Subject.CommonName
	}

	action, err := actionOf(r)
	var object runtime.Object
	if err == nil {
		name := action.GetResource().Resource
		if named, ok := action.(interface{ GetName() string }); ok && named.GetName() != "" {
			name += "/" + named.GetName()
		}
		a.asked = append(a.asked, action.GetVerb()+" "+name+" by "+a.user)
		object, err = a.Invokes(action, nil)
	}

	code := http.StatusOK
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		answer := status.Status()
		object, code = &answer, int(answer.Code)
	} else if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if object == nil { // something was deleted
		object = &metav1.Status{Status: metav1.StatusSuccess}
	}

	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	codec := kubeclient.Codecs().LegacyCodec(kubeclient.Scheme().PrioritizedVersionsAllGroups()...)
	io.WriteString(w, runtime.EncodeOrDie(codec, object))
	a.user = ""
}

// actionOf returns what a request asks for.
func actionOf(r *http.Request) (clienttesting.Action, error) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if path[0] == "api" {
		path = slices.Insert(path, 1, "")
	}
	group, path := schema.GroupVersion{Group: path[1], Version: path[2]}, path[3:]
	namespace, name := "", ""
	if path[0] == "namespaces" && len(path) > 2 {
		namespace, path = path[1], path[2:]
	}

	what := group.WithResource(path[0])
	if len(path) > 1 {
		name = path[1]
	}
	switch {
	case r.Method == http.MethodDelete:
		return clienttesting.NewDeleteAction(what, namespace, name), nil
	case r.Method == http.MethodGet && name != "":
		return clienttesting.NewGetAction(what, namespace, name), nil
	case r.Method == http.MethodGet:
		kind := map[string]string{"certificatesigningrequests": "CertificateSigningRequest", "nodes": "Node"}[path[0]]
		return clienttesting.NewListAction(what, group.WithKind(kind), namespace, metav1.ListOptions{}), nil
	}

	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	object, _, err := kubeclient.Codecs().UniversalDeserializer().Decode(body, nil, nil)
	if r.Method == http.MethodPut {
		return clienttesting.NewUpdateAction(what, namespace, object), err
	}

	return clienttesting.NewCreateAction(what, namespace, object), err
}

// refuse makes the API answer err to a user who asks for verb and resource, until the test calls end. "*" stands for
// every verb, resource or user.
func (a *api) refuse(user, verb, resource string, err error) (end func()) {
	var mu sync.Mutex
	over := false
	a.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		if over || (user != "*" && user != a.user) {
			return false, nil, nil
		}
		return true, nil, err
	})

	return func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
	}
}

// silent is the API's answer while it does not work.
func silent() error { return apierrors.NewServiceUnavailable("etcd has no leader") }

// forbidden is its answer to somebody who may not.
func forbidden(resource, name string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, name, errors.New("you have no such right"))
}

// said returns the requests over HTTPS that begin with begin.
func (a *api) said(begin string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for _, line := range a.asked {
		if strings.HasPrefix(line, begin) {
			all = append(all, line)
		}
	}
	return all
}

// has says whether the API has a node or a claim, "machine-N".
func (a *api) has(t *testing.T, name string) bool {
	t.Helper()
	gvr, namespace := corev1.SchemeGroupVersion.WithResource("nodes"), ""
	if strings.HasPrefix(name, "machine-") {
		gvr, namespace = corev1.SchemeGroupVersion.WithResource("configmaps"), machines.Namespace
	}
	_, err := a.Tracker().Get(gvr, namespace, name)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// node returns a node that has registered.
func node(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name)}}
}

// claim returns a machine's claim of a part of the underlay.
func claim(part int, holder string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: machines.ClaimName(part), Namespace: machines.Namespace},
		Data:       machines.ClaimData(netip.MustParseAddr("192.0.2.7"), holder),
	}
}

// freshPaths returns the paths of a machine with a prepared data folder.
func freshPaths(t *testing.T) layout.Paths {
	t.Helper()
	paths := layout.Paths{Data: filepath.Join(t.TempDir(), "data")}
	if err := (&room{}).Prepare(paths); err != nil {
		t.Fatal(err)
	}
	return paths
}

// joined returns the paths of a machine with what a join left there: its claim, and its nodes' certificates.
func (a *api) joined(t *testing.T, part int, nodes ...string) layout.Paths {
	t.Helper()
	paths := freshPaths(t)
	if err := saveJoin(paths, discovery.Cluster{Server: a.url, CA: a.ca}, theToken); err != nil {
		t.Fatal(err)
	}
	if err := saveClaim(paths, claimRecord{
		Server: a.url,
		Part:   part,
		Holder: "us",
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range nodes {
		certify(t, paths.JoinNode(name), name)
	}
	return paths
}

// certify puts the certificate of a node's kubelet into a folder.
func certify(t *testing.T, dir, node string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
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
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kubelet-client-current.pem"), text, 0o600); err != nil {
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
