package gmsa

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// Bounds of a request: an object in etcd has at most 1.5 MiB, and an answer comes within the API server's patience.
const (
	maxBody     = 4 << 20
	askTimeout  = 8 * time.Second
	slowHeaders = 5 * time.Second
)

// handler answers the API server.
func (a admitter) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /mutate", a.answer(func(ctx context.Context, r *admissionv1.AdmissionRequest,
		response *admissionv1.AdmissionResponse,
	) error {
		patch, err := a.mutate(ctx, r)
		if err != nil || len(patch) == 0 {
			return err
		}
		kind := admissionv1.PatchTypeJSONPatch
		response.PatchType = &kind
		response.Patch, err = json.Marshal(patch)
		return err
	}))

	mux.HandleFunc("POST /validate", a.answer(func(ctx context.Context, r *admissionv1.AdmissionRequest,
		_ *admissionv1.AdmissionResponse,
	) error {
		return a.validate(ctx, r)
	}))

	return mux
}

type decide func(ctx context.Context, r *admissionv1.AdmissionRequest, response *admissionv1.AdmissionResponse) error

func (admitter) answer(f decide) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err == nil {
			err = json.Unmarshal(body, &review)
		}
		if err != nil || review.Request == nil {
			http.Error(w, "the body is no AdmissionReview with a request", http.StatusBadRequest)
			return
		}

		ctx, cancel := context.WithTimeout(r.Context(), askTimeout)
		defer cancel()
		response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		if err := f(ctx, review.Request, response); err != nil {
			response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: statusOf(err)}
		}

		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(admissionv1.AdmissionReview{ // the API server refuses the pod without an answer
			TypeMeta: metav1.TypeMeta{Kind: "AdmissionReview", APIVersion: "admission.k8s.io/v1"},
			Response: response,
		})
	}
}

// statusOf returns what the person is told: a refusal's own code, or that of the API server's answer.
func statusOf(err error) *metav1.Status {
	s := &metav1.Status{Message: err.Error(), Code: http.StatusInternalServerError}
	var refused *refusal
	var answer apierrors.APIStatus
	switch {
	case errors.As(err, &refused):
		s.Code = refused.code
	case errors.As(err, &answer) && answer.Status().Code != 0:
		s.Code, s.Reason = answer.Status().Code, answer.Status().Reason
	}
	return s
}

// cluster is the API of a cluster.
type cluster struct{ client kubeclient.Interface }

// Spec implements API.
func (c cluster) Spec(ctx context.Context, name string) (string, error) {
	text, err := c.client.RESTClient().Get().AbsPath("/apis", group, "v1", resource, name).DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		return "", refuse(http.StatusNotFound, "cred spec %q does not exist", name)
	}
	if err != nil {
		return "", fmt.Errorf("read cred spec %q: %w", name, err)
	}

	var object struct {
		CredSpec json.RawMessage `json:"credspec"`
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return "", fmt.Errorf("read cred spec %q: %w", name, err)
	}
	if len(object.CredSpec) == 0 {
		return "", refuse(http.StatusExpectationFailed, "cred spec %q does not have a credspec key", name)
	}

	return string(object.CredSpec), nil
}

// Review implements API.
func (c cluster) Review(ctx context.Context, r *authorizationv1.SubjectAccessReview,
) (*authorizationv1.SubjectAccessReview, error) {
	return c.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, r, metav1.CreateOptions{})
}
