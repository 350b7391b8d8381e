package gmsa

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/windows/wire/credspec"
)

// API is what the webhook asks of the API server.
type API interface {
	// Spec returns the credspec of a GMSACredentialSpec as JSON. The error's status goes to the person.
	Spec(ctx context.Context, name string) (string, error)
	// Review asks whether somebody may do something.
	Review(ctx context.Context, r *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error)
}

// admitter decides about pods.
type admitter struct {
	api     API
	domains []string
}

// refusal is why a pod is refused, with an HTTP status.
type refusal struct {
	code int32
	text string
}

func (r *refusal) Error() string { return r.text }

func refuse(code int32, format string, args ...any) error {
	return &refusal{code: code, text: fmt.Sprintf(format, args...)}
}

// place is where a pod has Windows options.
type place struct {
	what string // for people: pod "web", container "app"
	// path is that of the object with the security context, as JSON patches name it; "" for a container that has been
	// added to a running pod.
	path    string
	options *corev1.WindowsSecurityContextOptions
}

// places returns those of a pod that name a credential spec or have one.
func places(pod *corev1.Pod) []place {
	var all []place
	add := func(what, path string, o *corev1.WindowsSecurityContextOptions) {
		if o != nil && (o.GMSACredentialSpecName != nil || o.GMSACredentialSpec != nil) {
			all = append(all, place{what, path, o})
		}
	}

	windowsOptions := func(c *corev1.SecurityContext) *corev1.WindowsSecurityContextOptions {
		if c == nil {
			return nil
		}
		return c.WindowsOptions
	}
	if c := pod.Spec.SecurityContext; c != nil {
		add(fmt.Sprintf("pod %q", pod.Name), "/spec", c.WindowsOptions)
	}

	for i, c := range pod.Spec.InitContainers {
		add(fmt.Sprintf("initContainer %q", c.Name), fmt.Sprintf("/spec/initContainers/%d", i), windowsOptions(c.SecurityContext))
	}

	for i, c := range pod.Spec.Containers {
		add(fmt.Sprintf("container %q", c.Name), fmt.Sprintf("/spec/containers/%d", i), windowsOptions(c.SecurityContext))
	}

	for _, c := range pod.Spec.EphemeralContainers {
		add(fmt.Sprintf("ephemeralContainer %q", c.Name), "", windowsOptions(c.SecurityContext))
	}

	return all
}

// operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value string `json:"value"`
}

// mutate returns the operations that put credential specs beside their names.
func (a admitter) mutate(ctx context.Context, r *admissionv1.AdmissionRequest) ([]operation, error) {
	pod, err := podOf(r)
	if err != nil {
		return nil, err
	}

	var patch []operation
	for _, p := range places(pod) {
		if p.path == "" || p.options.GMSACredentialSpecName == nil || p.options.GMSACredentialSpec != nil {
			continue
		}
		text, err := a.api.Spec(ctx, *p.options.GMSACredentialSpecName)
		if err != nil {
			return nil, err
		}
		patch = append(patch, operation{"add", p.path + "/securityContext/windowsOptions/gmsaCredentialSpec", text})
	}

	return patch, nil
}

// validate returns an error if a pod may not have its credential specs.
func (a admitter) validate(ctx context.Context, r *admissionv1.AdmissionRequest) error {
	pod, err := podOf(r)
	if err != nil {
		return err
	}
	for _, p := range places(pod) {
		if err := a.check(ctx, r.Namespace, pod.Spec.ServiceAccountName, p); err != nil {
			return err
		}
	}
	return nil
}

func (a admitter) check(ctx context.Context, namespace, account string, p place) error {
	if p.path == "" {
		return refuse(http.StatusUnprocessableEntity,
			"%s has a GMSA cred spec of its own: a container that is added to a running pod has the pod's", p.what)
	}
	if p.options.GMSACredentialSpecName == nil {
		return a.checkUnnamed(p)
	}

	name := *p.options.GMSACredentialSpecName
	if err := a.mayUse(ctx, namespace, account, name); err != nil {
		return err
	}
	if p.options.GMSACredentialSpec == nil {
		return nil
	}

	text, err := a.api.Spec(ctx, name)
	if err != nil {
		return err
	}
	if !same(*p.options.GMSACredentialSpec, text) {
		return refuse(http.StatusUnprocessableEntity,
			"the GMSA cred spec contents for %s does not match the contents of GMSA resource %q", p.what, name)
	}

	return nil
}

// checkUnnamed is for a credential spec that is not said to be an object's. Where no node has its domain's keys it
// gives the container a name and nothing else. One that is wrong is the container runtime's to refuse.
func (a admitter) checkUnnamed(p place) error {
	s, err := credspec.Parse(*p.options.GMSACredentialSpec)
	if err != nil {
		return nil //nolint:nilerr // the container does not start
	}
	scope := s.Account().Scope
	if !slices.ContainsFunc(a.domains, func(d string) bool { return strings.EqualFold(d, scope) }) {
		return nil
	}
	return refuse(http.StatusUnprocessableEntity, "%s has a GMSA cred spec set, but does not define the name of the "+
		"corresponding resource; the nodes have keys for its domain %q", p.what, scope)
}

// mayUse asks whether a service account has the verb use on a credential spec.
func (a admitter) mayUse(ctx context.Context, namespace, account, name string) error {
	if account == "" {
		account = "default"
	}

	const serviceAccounts = "system:serviceaccounts"
	review, err := a.api.Review(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:   "system:serviceaccount:" + namespace + ":" + account,
		Groups: []string{serviceAccounts, serviceAccounts + ":" + namespace, "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace,
			Verb:      "use",
			Group:     group,
			Resource:  resource,
			Name:      name,
		},
	}})
	if err != nil {
		return fmt.Errorf("ask whether service account %q may use GMSA cred spec %q: %w", account, name, err)
	}

	if !review.Status.Allowed || review.Status.Denied {
		return refuse(http.StatusForbidden,
			"service account %q is not authorized to `use` GMSA cred spec %q", account, name)
	}

	return nil
}

// same compares credential specs as JSON.
func same(a, b string) bool {
	if a == b {
		return true
	}
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

func podOf(r *admissionv1.AdmissionRequest) (*corev1.Pod, error) {
	pods := metav1.GroupVersionResource{Version: "v1", Resource: "pods"}
	if r.Resource != pods {
		return nil, refuse(http.StatusBadRequest, "expected a Pod object, got a %v", r.Kind.Kind)
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(r.Object.Raw, pod); err != nil {
		return nil, refuse(http.StatusBadRequest, "the pod is no such JSON: %v", err)
	}
	return pod, nil
}
