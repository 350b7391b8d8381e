package bootstrap

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// TokenInfo is a bootstrap token of the cluster, as a list shows it: without its secret.
type TokenInfo struct {
	ID string `json:"id"`
	// Ends is when it expires; nil: never.
	Ends        *time.Time `json:"ends,omitempty"`
	Description string     `json:"description,omitempty"`
}

// Tokens lists the cluster's bootstrap tokens by their names. Those that have expired are gone within moments
// (tokencleaner).
func Tokens(ctx context.Context, client kubeclient.Interface) ([]TokenInfo, error) {
	list, err := client.CoreV1().Secrets(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("type", string(corev1.SecretTypeBootstrapToken)).String(),
	})
	if err != nil {
		return nil, fmt.Errorf("list bootstrap tokens: %w", err)
	}

	tokens := []TokenInfo{}
	for _, s := range list.Items {
		t := TokenInfo{ID: string(s.Data["token-id"]), Description: string(s.Data["description"])}
		if ends, err := time.Parse(time.RFC3339, string(s.Data["expiration"])); err == nil {
			t.Ends = &ends
		}
		tokens = append(tokens, t)
	}

	slices.SortFunc(tokens, func(a, b TokenInfo) int { return cmp.Compare(a.ID, b.ID) })
	return tokens, nil
}
