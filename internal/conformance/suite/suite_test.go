package suite

import (
	"regexp"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/testrun"
)

func TestSuites(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All() {
		if seen[s.Name] || s.About == "" || s.Source == "" || s.Processes < 1 || s.Attempts < 1 {
			t.Errorf("suite %+v is a second of its name, or something is missing", s)
		}
		seen[s.Name] = true
		for _, e := range []string{s.Focus, s.Skip} {
			if _, err := regexp.Compile(e); err != nil {
				t.Errorf("suite %s: %v", s.Name, err)
			}
		}

		if got, err := Lookup(s.Name); err != nil || got.Focus != s.Focus {
			t.Errorf("lookup %s: %+v, %v", s.Name, got, err)
		}
	}

	if _, err := Lookup("none"); err == nil || !strings.Contains(err.Error(), "parallel") {
		t.Errorf("an unknown suite: %v", err)
	}
}

// TestSelection takes specs that upstream's jobs select or leave out.
func TestSelection(t *testing.T) {
	const secrets, serial = "[sig-storage] Secrets should be consumable from pods in volume [Conformance] [NodeConformance]",
		"[sig-node] NoExecuteTaintManager Single Pod [Serial] eventually evict pod with finite tolerations from tainted nodes [Conformance]"
	for _, tt := range []struct {
		suite, spec string
		want        bool
	}{
		{"parallel", secrets, true},
		{"parallel", "[sig-node] Pods should be x [LinuxOnly] [Conformance] [NodeConformance]", false},
		{"parallel", serial, false},
		{
			"parallel", "[sig-windows] Services should be able to create a functioning NodePort service for Windows",
			true,
		},
		{"serial", serial, true},
		{"serial", secrets, false},
		{"hpa", "[sig-autoscaling] [Feature:HPA] Horizontal pod autoscaling (scale resource: CPU) [Serial] [Slow] Deployment", true},
		{"windows", "[sig-windows] Services should be able to create a functioning NodePort service for Windows", true},
		{"windows", secrets, false},
		{"smoke", secrets, true},
		{"smoke", secrets + " and more", false},
	} {
		s, err := Lookup(tt.suite)
		if err != nil {
			t.Fatal(err)
		}

		text := "Kubernetes e2e suite " + tt.spec
		got := regexp.MustCompile(s.Focus).MatchString(text) &&
			(s.Skip == "" || !regexp.MustCompile(s.Skip).MatchString(text))
		if got != tt.want {
			t.Errorf("suite %s selects %q: %v", tt.suite, tt.spec, got)
		}
	}
}

func TestSmokeIsShortAndInParallel(t *testing.T) {
	testrun.Once(t, testrun.Race)
	names := smoke()
	if len(names) < 20 || len(names) > 35 {
		t.Errorf("the short suite has %d specs", len(names))
	}
	s, err := Lookup("parallel")
	if err != nil {
		t.Fatal(err)
	}

	focus, skip := regexp.MustCompile(s.Focus), regexp.MustCompile(s.Skip)
	areas := map[string]bool{}
	for i, n := range names {
		if i > 0 && names[i-1] >= n {
			t.Errorf("%q is not in order, or twice", n)
		}
		if !focus.MatchString(n) || skip.MatchString(n) {
			t.Errorf("upstream's job does not run %q", n)
		}
		area, _, _ := strings.Cut(n, " ")
		areas[area] = true
	}

	if len(areas) < 5 {
		t.Errorf("the short suite covers only %v", areas)
	}
}
