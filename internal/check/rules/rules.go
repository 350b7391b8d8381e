// Package rules owns the rules of `mullion check`, as data: one file for each category, joined by All. A rule's
// fixtures lie in testdata/<id>/{pass,fail}; a rule without both fails the tests.
package rules

import (
	"slices"

	"mullion.dev/mullion/internal/check"
)

// All lists every rule.
func All() []check.Rule {
	return slices.Concat(apiVersions(), gateRules(), placement(), images(), podSecurity(), containerSecurity(),
		windowsOptions(), podSpec(), containers(), volumes(), claims(), resources(), services(), names(), commands(),
		execs(), Programs())
}

const (
	intro      = "https://kubernetes.io/docs/concepts/windows/intro/"
	networking = "https://kubernetes.io/docs/concepts/services-networking/windows-networking/"
	storage    = "https://kubernetes.io/docs/concepts/storage/windows-storage/"
	// osNameRefused is the minor version from which the API server refuses fields of the other system: IdentifyPodOS
	// was on by default.
	osNameRefused = 24
	// dockerGone is the minor version in which the kubelet lost its built-in support for Docker.
	dockerGone = 24
)

func compat(part string) check.Source {
	return check.Source{
		Title: "Windows containers in Kubernetes: compatibility and limitations",
		URL:   intro + "#" + part,
	}
}

func volumeStorage() check.Source {
	return check.Source{Title: "Volume Storage on Windows nodes", URL: storage}
}

func isTrue(path string) check.Match {
	return check.Match{
		Path:   path,
		Op:     check.In,
		Values: []string{"true"},
	}
}

func present(path string) check.Match { return check.Match{Path: path, Op: check.Present} }

// ignored returns a rule for a field that is ignored on Windows, and refused if os.name is windows.
func ignored(id, category string, target check.Target, m check.Match, why string) check.Rule {
	anchor := "compatibility-v1-pod"
	if target == check.OnContainer {
		anchor = "compatibility-v1-pod-spec-containers"
	}
	if category == podSecurityCategory {
		anchor = "compatibility-v1-pod-spec-containers-securitycontext"
	}
	return check.Rule{
		ID:       id,
		Severity: check.Warning,
		Category: category,
		Target:   target,
		Match:    []check.Match{m},
		Refused:  osNameRefused,
		Title:    m.Path + " does nothing on Windows",
		Why:      why,
		Source:   compat(anchor),
		Fix:      check.Remove,
		Remedy:   "remove the field from the pods that run on Windows",
	}
}

// each turns a function for a container into a rule's Func.
func each(f func(p *check.Pod, c check.Container) []check.Hit) func(*check.Pod) []check.Hit {
	return func(p *check.Pod) []check.Hit {
		var hits []check.Hit
		for _, c := range p.Containers() {
			hits = append(hits, f(p, c)...)
		}
		return hits
	}
}

// hits returns a hit for each value for which note returns a text.
func hits(vs []check.Value, note func(text string) string) []check.Hit {
	var out []check.Hit
	for _, v := range vs {
		if n := note(v.Node.Text()); n != "" {
			v.At.Note = n
			out = append(out, v.At)
		}
	}
	return out
}
