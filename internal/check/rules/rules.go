// Package rules owns the rules of `mullion check`, as data: one file for each category, joined by All. A rule's fixtures
// lie in testdata/<id>/{pass,fail}; a rule without both fails the tests.
package rules

import (
	"slices"

	"mullion.dev/mullion/internal/check"
)

// All lists every rule.
func All() []check.Rule {
	return slices.Concat(placement(), podSecurity(), containerSecurity(), podSpec())
}

const (
	intro = "https://kubernetes.io/docs/concepts/windows/intro/"
	// osNameRefused is the minor version from which fields of the other system are refused: IdentifyPodOS was on by default.
	osNameRefused = 24
)

func compat(part string) check.Source {
	return check.Source{Title: "Windows containers in Kubernetes: compatibility and limitations", URL: intro + "#" + part}
}

// ignored is a rule for a field that means nothing on Windows, and that is refused where os.name says windows.
func ignored(id, category string, target check.Target, m check.Match, why string) check.Rule {
	anchor := "compatibility-v1-pod-spec"
	if target == check.OnContainer || category == podSecurityCategory {
		anchor = "compatibility-v1-pod-spec-containers-securitycontext"
	}
	return check.Rule{
		ID: id, Severity: check.Warning, Category: category, Target: target, Match: []check.Match{m}, Refused: osNameRefused, Fix: check.Remove,
		Title: m.Path + " does nothing on Windows", Why: why, Source: compat(anchor),
		Remedy: "remove the field from the pods that run on Windows",
	}
}
