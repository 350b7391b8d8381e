// Package winunit runs Kubernetes' own unit tests for Windows, cross-compiled from the pinned module and unmodified,
// under Wine with Mullion's shims: what upstream's job ci-kubernetes-unit-windows runs on Windows Server
// (https://github.com/kubernetes-sigs/windows-testing/blob/6ae6988090b1a0f0b6c7e93db30b8aabe030c8b4/scripts/k8s_unit_windows.ps1),
// of the packages that have code of their own for Windows. packages.yaml lists them, and which of their tests are known
// to fail and why. A test that fails and is not listed fails here, and so does one that is listed and passes.
//
// It needs Wine and built shims (build tag wine), and root.
package winunit

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed packages.yaml
var table []byte

// unit is a package of tests.
type unit struct {
	// Path is the package's import path.
	Path string `json:"path"`
	// Rung says that it runs in `make test`; the others run with `make test-units`.
	Rung bool `json:"rung,omitempty"`
	// Why a package is there, or why it is not in the rung.
	Note string `json:"note"`
	// Known are the tests that fail.
	Known []known `json:"known,omitempty"`
}

// known is a test that is known to fail.
type known struct {
	// Test is its name, with its parents' for a subtest; it stands for its own subtests too.
	Test string `json:"test"`
	// Class is one of classes.
	Class string `json:"class"`
	Note  string `json:"note"`
	// Skip leaves the test out: it takes the whole program with it, or never ends. Only a top test can be left out.
	Skip bool `json:"skip,omitempty"`
	// Flaky tests may pass.
	Flaky bool `json:"flaky,omitempty"`
}

// classes say whose fault a failure is.
func classes() []string {
	return []string{
		"our gap",  // Mullion's
		"wine",     // Wine does it otherwise than Windows, and what runs on a node does not mind
		"upstream", // it fails on Windows as well: upstream's job leaves it out, or the test means another system
		"machine",  // it asks for what the test's environment does not have
	}
}

// units reads the table.
func units() ([]unit, error) {
	var list []unit
	if err := yaml.UnmarshalStrict(table, &list); err != nil {
		return nil, fmt.Errorf("read packages.yaml: %w", err)
	}
	for i, u := range list {
		if u.Path == "" || u.Note == "" || i > 0 && list[i-1].Path >= u.Path {
			return nil, fmt.Errorf("packages.yaml: %q has no path or note, or is not in order", u.Path)
		}
		for _, k := range u.Known {
			if k.Test == "" || k.Note == "" || !slices.Contains(classes(), k.Class) || k.Skip &&
				strings.Contains(k.Test, "/") {
				return nil, fmt.Errorf("packages.yaml: %s: the row of test %q is not right", u.Path, k.Test)
			}
		}
	}
	return list, nil
}

// skip is the expression of the tests that are left out, or empty.
func (u unit) skip() string {
	var names []string
	for _, k := range u.Known {
		if k.Skip {
			names = append(names, regexp.QuoteMeta(k.Test))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// judge compares how the tests ended ("pass", "fail" or "skip", by name) with the table. It gives the tests that fail
// and are not known, and the rows that are not so any more.
func (u unit) judge(ended map[string]string) (unknown, stale []string) {
	for name, how := range ended {
		if how == "fail" && !u.explains(name) {
			unknown = append(unknown, name)
		}
	}
	for _, k := range u.Known {
		if !k.Skip && !k.Flaky && ended[k.Test] != "fail" {
			stale = append(stale, k.Test)
		}
	}
	slices.Sort(unknown)
	return unknown, stale
}

// explains tells whether a row is about the test, about one of its parents or about one of its subtests, with which it
// fails.
func (u unit) explains(name string) bool {
	return slices.ContainsFunc(u.Known, func(k known) bool {
		return k.Test == name || strings.HasPrefix(name, k.Test+"/") || strings.HasPrefix(k.Test, name+"/")
	})
}
