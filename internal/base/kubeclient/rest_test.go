package kubeclient_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// answering returns a client of a server that answers every request so, and what it was asked last.
func answering(t *testing.T, code int, answer string) (client *kubeclient.Client, asked, sent *string) {
	t.Helper()
	asked, sent = new(string), new(string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*asked, *sent = r.Method+" "+r.URL.String(), string(body)
		if strings.HasSuffix(r.Header.Get("Content-Type"), "+yaml") || strings.HasSuffix(r.Header.Get("Content-Type"), "patch+json") {
			*asked += " " + r.Header.Get("Content-Type")
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		io.WriteString(w, answer)
	}))

	t.Cleanup(server.Close)
	client, err := kubeclient.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}

	return client, asked, sent
}

// The requests are those of Kubernetes' API.
func TestRequests(t *testing.T) {
	ctx := t.Context()

	ten := int64(10)
	for name, tt := range map[string]struct {
		ask  func(c kubeclient.Interface) error
		want string
	}{
		"get": {func(c kubeclient.Interface) error {
			_, err := c.CoreV1().Pods("ns").Get(ctx, "p", metav1.GetOptions{})
			return err
		}, "GET /api/v1/namespaces/ns/pods/p"},
		"list": {func(c kubeclient.Interface) error {
			_, err := c.CoreV1().Pods("").List(ctx, metav1.ListOptions{LabelSelector: "a=b", TimeoutSeconds: &ten})
			return err
		}, "GET /api/v1/pods?labelSelector=a%3Db&timeout=10s&timeoutSeconds=10"},
		"create": {func(c kubeclient.Interface) error {
			o := metav1.CreateOptions{FieldManager: "m"}
			_, err := c.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{}, o)
			return err
		}, "POST /apis/rbac.authorization.k8s.io/v1/clusterroles?fieldManager=m"},
		"update": {func(c kubeclient.Interface) error {
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
			_, err := c.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{})
			return err
		}, "PUT /api/v1/nodes/n"},
		"status": {func(c kubeclient.Interface) error {
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
			_, err := c.CoreV1().Nodes().UpdateStatus(ctx, n, metav1.UpdateOptions{})
			return err
		}, "PUT /api/v1/nodes/n/status"},
		"approval": {func(c kubeclient.Interface) error {
			_, err := c.CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, "r",
				&certificatesv1.CertificateSigningRequest{}, metav1.UpdateOptions{})
			return err
		}, "PUT /apis/certificates.k8s.io/v1/certificatesigningrequests/r/approval"},
		"patch": {func(c kubeclient.Interface) error {
			_, err := c.CoreV1().Services("ns").Patch(ctx, "s", types.MergePatchType, []byte("{}"), metav1.PatchOptions{},
				"status")
			return err
		}, "PATCH /api/v1/namespaces/ns/services/s/status application/merge-patch+json"},
		"apply": {func(c kubeclient.Interface) error {
			s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
			_, err := c.CoreV1().Services("ns").Apply(ctx, s, metav1.ApplyOptions{FieldManager: "m", Force: true})
			return err
		}, "PATCH /api/v1/namespaces/ns/services/s?fieldManager=m&force=true application/apply-patch+yaml"},
		"delete": {func(c kubeclient.Interface) error {
			return c.AppsV1().DaemonSets("ns").Delete(ctx, "d", metav1.DeleteOptions{})
		}, "DELETE /apis/apps/v1/namespaces/ns/daemonsets/d"},
		"delete-collection": {func(c kubeclient.Interface) error {
			return c.CoreV1().Pods("ns").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "a"})
		}, "DELETE /api/v1/namespaces/ns/pods?labelSelector=a"},
		"review": {func(c kubeclient.Interface) error {
			_, err := c.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{},
				metav1.CreateOptions{})
			return err
		}, "POST /apis/authorization.k8s.io/v1/subjectaccessreviews"},
		"log": {func(c kubeclient.Interface) error {
			_, err := c.CoreV1().Pods("ns").GetLogs("p", &corev1.PodLogOptions{Previous: true}).DoRaw(ctx)
			return err
		}, "GET /api/v1/namespaces/ns/pods/p/log?previous=true"},
		"plain": {func(c kubeclient.Interface) error {
			_, err := c.RESTClient().Get().AbsPath("/apis/g/v1/things").DoRaw(ctx)
			return err
		}, "GET /apis/g/v1/things"},
		"version": {func(c kubeclient.Interface) error {
			_, err := c.ServerVersion(ctx)
			return err
		}, "GET /version"},
	} {
		t.Run(name, func(t *testing.T) {
			client, asked, _ := answering(t, http.StatusOK, "{}")
			if err := tt.ask(client); err != nil {
				t.Error(err)
			}
			if *asked != tt.want {
				t.Errorf("asked\n%s, want\n%s", *asked, tt.want)
			}
		})
	}
}

// What is not set is not applied, nor is the status.
func TestApplied(t *testing.T) {
	client, _, sent := answering(t, http.StatusOK, "{}")
	force := metav1.ApplyOptions{FieldManager: "m", Force: true}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	if _, err := client.CoreV1().Namespaces().Apply(t.Context(), namespace, force); err != nil {
		t.Fatal(err)
	}

	want := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "n"}}
	var got map[string]any
	if err := json.Unmarshal([]byte(*sent), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +sent:\n%s", diff)
	}
}

// What an API server may answer instead: nothing of use, or a refusal.
func TestAnswers(t *testing.T) {
	client, _, _ := answering(t, http.StatusOK, "no JSON")
	if _, err := client.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{}); err == nil {
		t.Error("a node is read from no JSON")
	}
	if _, err := client.ServerVersion(t.Context()); err == nil || !strings.Contains(err.Error(), "server's version") {
		t.Errorf("a version that is no JSON: %v", err)
	}

	client, _, _ = answering(t, http.StatusForbidden,
		`{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"you may not"}`)
	got, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) || got == nil {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := client.CoreV1().Nodes().Get(t.Context(), "", metav1.GetOptions{}); err == nil {
		t.Error("an object without a name is read")
	}

	for _, config := range []*rest.Config{{Host: "::"}, {QPS: 1}} {
		if _, err := kubeclient.NewForConfig(config); err == nil {
			t.Errorf("there is a client of %+v", config)
		}
	}
}
