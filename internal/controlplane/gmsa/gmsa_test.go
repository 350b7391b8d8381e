package gmsa

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// web1 is a credential spec of a domain for which the nodes have keys; web2 one of another.
const (
	web1 = `{"CmsPlugins":["ActiveDirectory"],"DomainJoinConfig":{"Sid":"S-1-5-21-1-2-3",` +
		`"Guid":"244818ae-87ca-4fcd-92ec-e79e5252348a","DnsName":"contoso.com","MachineAccountName":"WebApp1","DnsTreeName":"contoso.com","NetBiosName":"CONTOSO"},` +
		`"ActiveDirectoryConfig":{"GroupManagedServiceAccounts":[{"Name":"WebApp1","Scope":"CONTOSO"}]}}`
)

var web2 = strings.ReplaceAll(strings.ReplaceAll(web1, "contoso.com", "fabrikam.com"), "CONTOSO", "FABRIKAM")

// fakeAPI has the spec web1, which the service account "web" of the namespace "shop" may use.
type fakeAPI struct{ err error }

func (f fakeAPI) Spec(_ context.Context, name string) (string, error) {
	if name == "web1" {
		return web1, f.err
	}
	return "", refuse(http.StatusNotFound, "cred spec %q does not exist", name)
}

func (f fakeAPI) Review(_ context.Context, r *authorizationv1.SubjectAccessReview,
) (*authorizationv1.SubjectAccessReview, error) {
	a := r.Spec.ResourceAttributes
	r.Status.Allowed = r.Spec.User == "system:serviceaccount:shop:web" && len(r.Spec.Groups) == 3 && a.Verb == "use" &&
		a.Group == "windows.k8s.io" && a.Resource == "gmsacredentialspecs" && a.Name == "web1"
	return r, f.err
}

// ask sends a pod to the webhook.
func ask(t *testing.T, api API, path, namespace, spec string) *admissionv1.AdmissionResponse {
	t.Helper()
	body, err := json.Marshal(admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
		UID: "u1", Namespace: namespace, Operation: admissionv1.Create,
		Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		Object:   runtime.RawExtension{Raw: []byte(`{"metadata": {"name": "p"}, "spec": ` + spec + `}`)},
	}})
	if err != nil {
		t.Fatal(err)
	}

	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body))
	admitter{api: api, domains: []string{"Contoso.com"}}.handler().ServeHTTP(w, r)
	var review admissionv1.AdmissionReview
	err = json.Unmarshal(w.Body.Bytes(), &review)
	if err != nil || review.Response == nil || review.Response.UID != "u1" {
		t.Fatalf("answer %d %s: %v", w.Code, w.Body, err)
	}

	return review.Response
}

// options returns the Windows options of a security context.
func options(name, spec string) string {
	o := map[string]string{}
	if name != "" {
		o["gmsaCredentialSpecName"] = name
	}
	if spec != "" {
		o["gmsaCredentialSpec"] = spec
	}
	text, _ := json.Marshal(map[string]any{"windowsOptions": o})
	return string(text)
}

func TestMutate(t *testing.T) {
	spec := `{"securityContext": ` + options("web1", "") + `,
		"initContainers": [{"name": "i"}, {"name": "j", "securityContext": ` + options("web1", "") + `}],
		"containers": [{"name": "a", "securityContext": {}}, {"name": "b", "securityContext": ` + options("web1", web2) + `},
			{"name": "c", "securityContext": ` + options("web1", "") + `}]}`
	got := ask(t, fakeAPI{}, "/mutate", "shop", spec)
	var patch []operation
	if err := json.Unmarshal(got.Patch, &patch); err != nil || !got.Allowed {
		t.Fatalf("%+v: %v", got, err)
	}

	const field = "/securityContext/windowsOptions/gmsaCredentialSpec"
	want := []operation{
		{"add", "/spec" + field, web1}, {"add", "/spec/initContainers/1" + field, web1}, {"add", "/spec/containers/2" + field, web1},
	}
	if diff := cmp.Diff(want, patch); diff != "" {
		t.Error(diff)
	}

	if got := ask(t, fakeAPI{}, "/mutate", "shop", `{"containers": [{"name": "a"}]}`); !got.Allowed || got.Patch != nil {
		t.Errorf("a pod without: %+v", got)
	}
	missing := ask(t, fakeAPI{}, "/mutate", "shop", `{"securityContext": `+options("web3", "")+`}`)
	if missing.Allowed || missing.Result.Code != http.StatusNotFound {
		t.Errorf("a spec that is not there: %+v", missing)
	}
}

func TestValidate(t *testing.T) {
	pod := func(name, spec string) string {
		return `{"serviceAccountName": "web", "securityContext": ` + options(name, spec) + `}`
	}

	for _, c := range []struct {
		name, namespace, spec string
		api                   fakeAPI
		code                  int32
		want                  string
	}{
		{name: "expanded", namespace: "shop", spec: pod("web1", web1)},
		{name: "same-json", namespace: "shop", spec: pod("web1", strings.ReplaceAll(web1, ",", " , "))},
		{name: "named", namespace: "shop", spec: pod("web1", "")},
		{name: "none", namespace: "shop", spec: `{"securityContext": {"windowsOptions": {}}}`},
		{
			name: "other-namespace", namespace: "other", spec: pod("web1", web1), code: 403,
			want: "service account \"web\" is not authorized to `use` GMSA cred spec \"web1\"",
		},
		{
			name: "default-account", namespace: "shop", spec: `{"securityContext": ` + options("web1", web1) + `}`, code: 403,
			want: `service account "default" is not authorized`,
		},
		{name: "other-content", namespace: "shop", spec: pod("web1", web2), code: 422, want: "does not match the contents"},
		{name: "content-no-json", namespace: "shop", spec: pod("web1", "{"), code: 422, want: "does not match the contents"},
		{name: "inline-without-keys", namespace: "other", spec: pod("", web2)},
		{name: "inline-wrong", namespace: "other", spec: pod("", "{")},
		{name: "inline-with-keys", namespace: "shop", spec: pod("", web1), code: 422, want: "does not define the name"},
		{
			name: "container", namespace: "shop", code: 422, want: `container "c" has a GMSA cred spec set`,
			spec: `{"containers": [{"name": "c", "securityContext": ` + options("", web1) + `}]}`,
		},
		{
			name: "init-container", namespace: "shop", code: 403, want: "not authorized",
			spec: `{"initContainers": [{"name": "c", "securityContext": ` + options("web2", "") + `}]}`,
		},
		{
			name: "ephemeral", namespace: "shop", code: 422, want: "has the pod's",
			spec: `{"serviceAccountName": "web",
				"ephemeralContainers": [{"name": "c", "securityContext": ` + options("web1", web1) + `}]}`,
		},
		{
			name: "no-answer", namespace: "shop", spec: pod("web1", web1), code: 500, want: "no answer",
			api: fakeAPI{err: errors.New("no answer")},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ask(t, c.api, "/validate", c.namespace, c.spec)
			if got.Allowed != (c.code == 0) {
				t.Fatalf("got %+v", got)
			}
			if c.code != 0 && (got.Result.Code != c.code || !strings.Contains(got.Result.Message, c.want)) {
				t.Errorf("got %d %q, want %d %q", got.Result.Code, got.Result.Message, c.code, c.want)
			}
		})
	}
}

// TestWrongRequests: what is no review of a pod is refused.
func TestWrongRequests(t *testing.T) {
	h := admitter{api: fakeAPI{}}.handler()
	for _, body := range []string{"", "{", "{}", `{"request": 1}`, strings.Repeat("x", maxBody+1)} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/validate", strings.NewReader(body))
		h.ServeHTTP(w, r)
		if w.Code != http.StatusBadRequest {
			t.Errorf("%.10q: %d", body, w.Code)
		}
	}

	for _, body := range []string{
		`{"request": {"uid": "u", "resource": {"version": "v1", "resource": "nodes"}}}`,
		`{"request": {"uid": "u", "resource": {"version": "v1", "resource": "pods"}, "object": 7}}`,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mutate", strings.NewReader(body)))
		if !strings.Contains(w.Body.String(), `"allowed":false`) {
			t.Errorf("%s: %s", body, w.Body)
		}
	}
}
