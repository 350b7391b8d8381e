package parts

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A host is told its node's ranges once, again if it could not be told or if they are others, and no other host's.
func TestPodCIDRs(t *testing.T) {
	var told []string
	away := errors.New("the agent is away")
	p := &PodCIDRs{
		Log: slog.New(slog.DiscardHandler),
		Set: map[string]func(context.Context, string) error{"win-1": func(_ context.Context, cidrs string) error {
			told = append(told, cidrs)
			if len(told) == 1 {
				return away
			}
			return nil
		}},
	}

	see := func(name string, cidrs ...string) {
		p.Seen(t.Context(), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.NodeSpec{PodCIDRs: cidrs},
		})
	}
	see("win-1")
	see("win-2", "10.244.2.0/24")
	see("win-1", "10.244.1.0/24")
	see("win-1", "10.244.1.0/24")
	see("win-1", "10.244.1.0/24")
	see("win-1", "10.244.3.0/24", "fd00::/64")
	if want := []string{"10.244.1.0/24", "10.244.1.0/24", "10.244.3.0/24,fd00::/64"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
