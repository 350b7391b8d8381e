package rules

import (
	"fmt"
	"strings"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/manifest"
)

const apiCategory = "api"

// apiVersion names a kind of object in one version of its group.
type apiVersion struct{ version, kind string }

// goneVersion says when Kubernetes stops serving it.
type goneVersion struct {
	minor int
	// replacement is the version that has the kind now, "" if none has.
	replacement string
}

// apiVersions is the rule about API versions that are gone. hack/kubeapi writes their list.
func apiVersions() []check.Rule {
	gone := goneVersions()
	of := func(p *check.Pod) (goneVersion, bool) {
		g, ok := gone[apiVersion{p.Node.Get("apiVersion").Text(), p.Object.Kind}]
		return g, ok && p.Options.Kubernetes >= g.minor
	}
	return []check.Rule{{
		ID:       "api-version-gone",
		Severity: check.Error,
		Category: apiCategory,
		Target:   check.OnObject,
		Title:    "the API server no longer has this version of the API",
		Why:      "it refuses the object: no matches for the kind in this version",
		Remedy:   "write the version that has replaced it, and read in the guide what else changed: which fields are required now, and which defaults differ",
		Source: check.Source{
			Title: "Deprecated API Migration Guide",
			URL:   "https://kubernetes.io/docs/reference/using-api/deprecation-guide/",
		},
		Fields: []string{"apiVersion"},
		Func: func(p *check.Pod) []check.Hit {
			g, ok := of(p)
			if !ok {
				return nil
			}
			f := p.Node.Field("apiVersion")
			hit := check.Hit{Pos: f.Pos, Path: "apiVersion"}
			if f.Line == 0 { // the item of a typed list, which has the version of its list
				hit.Pos = p.Node.Pos
			}
			hit.Note = fmt.Sprintf("%s of %s went with Kubernetes 1.%d", f.Value.Text(), p.Object.Kind, g.minor)
			if g.replacement != "" {
				hit.Note += ", " + g.replacement + " has it"
			}
			return []check.Hit{hit}
		},
		Fix: func(p *check.Pod, _ check.Hit) []check.Edit {
			g, ok := of(p)
			f := p.Node.Field("apiVersion")
			if !ok || g.replacement == "" || f.Line == 0 {
				return nil
			}
			before, ok := convert(p.Node, apiVersion{f.Value.Text(), p.Object.Kind})
			switch {
			case !ok:
				return nil
			case len(before) > 0:
				return before
			}
			return []check.Edit{{Op: check.SetValue, Pos: f.Value.Pos, Value: g.replacement}}
		},
	}}
}

// convert returns the edits that an object needs before its apiVersion can change, none if it needs none. ok is false
// if it has something that the new version lacks, or that has to be decided by a person.
// https://kubernetes.io/docs/reference/using-api/deprecation-guide/
func convert(n *manifest.Node, is apiVersion) (edits []check.Edit, ok bool) {
	spec := n.Get("spec")
	switch group, _, _ := strings.Cut(is.version, "/"); group {
	case "apps", "extensions":
		switch is.kind {
		case "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet":
			return convertWorkload(spec)
		case "NetworkPolicy":
			return nil, true
		}
	case "batch", "coordination.k8s.io", "node.k8s.io", "rbac.authorization.k8s.io", "storage.k8s.io":
		return nil, true
	}
	return nil, false
}

// convertWorkload gives a workload the selector that apps/v1 requires: the labels of its template.
func convertWorkload(spec *manifest.Node) ([]check.Edit, bool) {
	if spec.Get("rollbackTo") != nil || spec.Get("templateGeneration") != nil {
		return nil, false
	}
	if spec.Get("selector").Set() {
		return nil, true
	}
	labels := spec.Get("template", "metadata", "labels")
	if labels == nil || len(labels.Fields) == 0 {
		return nil, false
	}
	var pairs []string
	for _, l := range labels.Fields {
		pairs = append(pairs, fmt.Sprintf("%q: %q", l.Key, l.Value.Text()))
	}
	return []check.Edit{{
		Op:    check.InsertField,
		Pos:   spec.Pos,
		Key:   "selector",
		Value: "{matchLabels: {" + strings.Join(pairs, ", ") + "}}",
	}}, true
}
