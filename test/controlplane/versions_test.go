//go:build kernel

package controlplane_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/rules"
	"mullion.dev/mullion/internal/windows/winver"
)

// testVersions: the API server has no version of a kind that the rules call gone, and has the one that they name
// instead.
func testVersions(t *testing.T, admin *kubeclient.Client) {
	t.Helper()
	kinds := slices.SortedFunc(maps.Keys(scheme.Scheme.AllKnownTypes()), func(a, b schema.GroupVersionKind) int {
		return cmp.Compare(a.String(), b.String())
	})

	for _, more := range []string{
		"apiextensions.k8s.io/v1beta1 CustomResourceDefinition", "apiregistration.k8s.io/v1beta1 APIService",
		"autoscaling/v2beta1 HorizontalPodAutoscaler", "autoscaling/v2beta2 HorizontalPodAutoscaler",
		"batch/v2alpha1 CronJob", "policy/v1beta1 PodSecurityPolicy", "settings.k8s.io/v1alpha1 PodPreset",
	} { // of no module any more
		version, kind, _ := strings.Cut(more, " ")
		kinds = append(kinds, schema.FromAPIVersionAndKind(version, kind))
	}

	c, err := check.New(rules.All(), check.Options{Kubernetes: 37, Windows: winver.All()})
	if err != nil {
		t.Fatal(err)
	}

	gone, replaced := 0, 0
	for _, gvk := range kinds {
		version := gvk.GroupVersion().String()
		finding, edit := versionVerdict(t, c, version, gvk.Kind)
		if !finding {
			continue
		}
		gone++
		if has, err := serves(t.Context(), admin, version, gvk.Kind); err != nil || has {
			t.Errorf("%s %s: the rules call it gone, and the API server has it: %v", version, gvk.Kind, err)
		}

		if edit == "" {
			continue
		}
		replaced++
		if has, err := serves(t.Context(), admin, edit, gvk.Kind); err != nil || !has {
			t.Errorf("%s %s: the rules replace it by %s, which the API server does not have: %v", version, gvk.Kind, edit, err)
		}
	}

	t.Logf("%d kinds and versions are gone, the version of %d can be replaced", gone, replaced)
	if gone < 50 || replaced < 20 {
		t.Error("too few")
	}
}

// serves asks the API server for a kind.
func serves(ctx context.Context, admin *kubeclient.Client, version, kind string) (bool, error) {
	path := "/apis/" + version
	if !strings.Contains(version, "/") {
		path = "/api/" + version
	}
	text, err := admin.RESTClient().Get().AbsPath(path).DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		return false, nil
	}

	if err != nil {
		return false, err
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(text, &list); err != nil {
		return false, err
	}

	for _, r := range list.APIResources {
		if r.Kind == kind && !strings.Contains(r.Name, "/") {
			return true, nil
		}
	}

	return false, nil
}

// versionVerdict asks the rules for an empty object, and returns the version that their fix would write.
func versionVerdict(t *testing.T, c *check.Checker, version, kind string) (finding bool, edit string) {
	t.Helper()
	text := fmt.Appendf(nil, "{apiVersion: %s, kind: %s, metadata: {name: x}, spec: {selector: {matchLabels: {a: b}}}}\n", version, kind)
	err := c.Run(t.Context(), "f", bytes.NewReader(text), func(r check.Result) error {
		for _, f := range r.Findings {
			if f.Rule.ID != "api-version-gone" {
				continue
			}
			finding = true
			for _, e := range f.Edits {
				edit = e.Value
			}
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return finding, edit
}
