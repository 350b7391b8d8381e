package image

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/containerd/containerd/v2/core/remotes/docker"
	remoteerrors "github.com/containerd/containerd/v2/core/remotes/errors"
)

// TestRegistryRemedy: what a registry refuses has its remedy, also below other errors.
func TestRegistryRemedy(t *testing.T) {
	status := func(code int) error { return remoteerrors.ErrUnexpectedStatus{StatusCode: code} }
	for _, tt := range []struct {
		ref  string
		err  error
		want string
	}{
		{"registry.example/a:1", docker.ErrInvalidAuthorization, "`docker login registry.example`"},
		{"app", status(401), "`docker login docker.io`"},
		{"localhost:5001/app", status(429), "too many requests: wait, or log on by `docker login localhost:5001`"},
		{"app", status(503), "the registry is at fault"},
		{"app", status(404), ""},
		{"app", errors.New("dial"), ""},
		{"APP", status(401), "an image's name is like"},
	} {
		got := RegistryRemedy(tt.ref, fmt.Errorf("pull: %w", tt.err))
		if !strings.Contains(got, tt.want) || (tt.want == "") != (got == "") {
			t.Errorf("%s, %v: %q, want %q", tt.ref, tt.err, got, tt.want)
		}
	}
}
