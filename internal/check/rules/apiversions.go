package rules

import (
	"fmt"
	"slices"
	"strconv"
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

// apiVersions returns the rule about API versions that are gone. hack/kubeapi writes their list.
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

// sameShape returns the kinds whose fields mean the same in the version that has replaced theirs ("No notable
// changes").
func sameShape() []string {
	return []string{
		"APIService", "CSIDriver", "CSINode", "CSIStorageCapacity", "ClusterRole", "ClusterRoleBinding",
		"ControllerRevision", "CronJob", "FlowSchema", "IPAddress", "IngressClass", "Lease", "NetworkPolicy",
		"PriorityClass", "Role", "RoleBinding", "RuntimeClass", "ServiceCIDR", "StorageClass",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "VolumeAttachment", "VolumeAttributesClass",
	}
}

// convert returns the edits that an object needs before its apiVersion can change, none if it needs none. ok is false
// if it has something that the new version lacks, or that a person has to decide.
// https://kubernetes.io/docs/reference/using-api/deprecation-guide/
func convert(n *manifest.Node, is apiVersion) (edits []check.Edit, ok bool) {
	spec := n.Get("spec")
	switch is.kind {
	case "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet":
		return convertWorkload(spec)
	case "Ingress":
		return convertIngress(spec), true
	case "PodDisruptionBudget": // an empty selector selected no pod, and selects all of them now
		labels := spec.Get("selector", "matchLabels")
		return nil, (labels != nil && len(labels.Fields) > 0) ||
			len(spec.Get("selector", "matchExpressions").Elements()) > 0

	case "EndpointSlice":
		for _, e := range n.Get("endpoints").Elements() {
			if e.Get("topology") != nil {
				return nil, false
			}
		}
		return nil, true

	case "HorizontalPodAutoscaler": // the metrics of v2beta1 have another form
		return nil, is.version == "autoscaling/v2beta2"
	case "PriorityLevelConfiguration":
		if f := spec.Get("limited").Field("assuredConcurrencyShares"); f != nil {
			return []check.Edit{{Op: check.RenameKey, Pos: f.Pos, Key: "nominalConcurrencyShares"}}, true
		}
		return nil, true
	}

	return nil, slices.Contains(sameShape(), is.kind)
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

// convertIngress gives an Ingress the form of networking.k8s.io/v1: defaultBackend, a service with a port in each
// backend, and a pathType for each path, which is the one that v1beta1 meant.
func convertIngress(spec *manifest.Node) []check.Edit {
	var edits []check.Edit
	if f := spec.Field("backend"); f != nil {
		edits = append(edits, check.Edit{
			Op:  check.RenameKey,
			Pos: f.Pos,
			Key: "defaultBackend",
		})
		edits = append(edits, convertBackend(f.Value)...)
	}

	for _, rule := range spec.Get("rules").Elements() {
		for _, path := range rule.Get("http", "paths").Elements() {
			if path.Kind == manifest.Map && !path.Get("pathType").Set() {
				edits = append(edits, check.Edit{
					Op:    check.InsertField,
					Pos:   path.Pos,
					Key:   "pathType",
					Value: "ImplementationSpecific",
				})
			}
			edits = append(edits, convertBackend(path.Get("backend"))...)
		}
	}

	return edits
}

// convertBackend replaces serviceName and servicePort by a service.
func convertBackend(backend *manifest.Node) []check.Edit {
	name, port := backend.Field("serviceName"), backend.Field("servicePort")
	if name == nil || port == nil {
		return nil
	}
	key := "name"
	if port.Value != nil && port.Value.Kind == manifest.Number {
		key = "number"
	}

	quote := func(n *manifest.Node) string {
		if n != nil && n.Kind == manifest.Number {
			return n.Value
		}
		return strconv.Quote(n.Text())
	}

	return []check.Edit{
		{
			Op:    check.InsertField,
			Pos:   backend.Pos,
			Key:   "service",
			Value: "{name: " + quote(name.Value) + ", port: {" + key + ": " + quote(port.Value) + "}}",
		},
		{Op: check.RemoveField, Pos: name.Pos},
		{Op: check.RemoveField, Pos: port.Pos},
	}
}
