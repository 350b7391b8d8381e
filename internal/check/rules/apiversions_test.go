package rules_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/fix"
	"mullion.dev/mullion/internal/check/rules"
	"mullion.dev/mullion/internal/windows/winver"
)

// TestFixedVersions holds that an object whose version was replaced is one of the new version, field by field, and that
// the API server still has that version.
func TestFixedVersions(t *testing.T) {
	files, err := filepath.Glob("testdata/api-version-gone/fail/*.yaml")
	if err != nil {
		t.Fatal(err)
	}

	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		var edits []check.Edit
		findings := 0
		for range 3 { // a kind's fields come first, its version afterwards
			edits, findings = versionEdits(t, text)
			text, _ = fix.Apply(text, edits)
		}

		if filepath.Base(file) == "policy.yaml" { // nothing has replaced it
			if findings == 0 {
				t.Errorf("%s: no finding is left", file)
			}
			continue
		}
		if findings > 0 {
			t.Errorf("%s: %d findings are left:\n%s", file, findings, text)
		}

		for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
			object, err := yaml.ToJSON(doc)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := strict.Decode(object, nil, nil); err != nil {
				t.Errorf("%s: %v\n%s", file, err, doc)
			}
		}
	}
}

func versionEdits(t *testing.T, text []byte) (edits []check.Edit, findings int) {
	t.Helper()
	c, err := check.New(rules.All(), check.Options{Kubernetes: 37, Windows: winver.All()})
	if err != nil {
		t.Fatal(err)
	}

	err = c.Run(t.Context(), "f", bytes.NewReader(text), func(r check.Result) error {
		for _, f := range r.Findings {
			if f.Rule.ID == "api-version-gone" {
				findings++
				edits = append(edits, f.Edits...)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return edits, findings
}
