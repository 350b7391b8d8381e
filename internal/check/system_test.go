package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/rules"
	"mullion.dev/mullion/internal/windows/winver"
)

// TestEvidenceOrder checks the order in which evidence decides: each pod says windows by one kind, and linux by the
// next.
func TestEvidenceOrder(t *testing.T) {
	testrun.Once(t, testrun.Order)
	affinity := func(os string) string {
		return "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/os, operator: In, values: [" + os + "]}]}]}}}"
	}

	class := "---\napiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: c}\nhandler: h\nscheduling: {nodeSelector: {kubernetes.io/os: %s}}\n"
	for _, tc := range []struct {
		name, spec, class, image string
		want                     check.OS
	}{
		{
			"os.name before the selector", "os: {name: windows}, nodeSelector: {kubernetes.io/os: linux}", "linux",
			"nginx", check.Windows,
		},
		{
			"the selector before affinity", "nodeSelector: {kubernetes.io/os: windows}, " + affinity("linux"), "linux",
			"nginx", check.Windows,
		},
		{
			"the beta label", "nodeSelector: {beta.kubernetes.io/os: linux}, " + affinity("windows"), "windows",
			"x:nanoserver", check.Linux,
		},
		{"affinity before the class", affinity("windows"), "linux", "nginx", check.Windows},
		{
			"the class before tolerations", "tolerations: [{key: os, value: windows}]", "linux", "x:nanoserver",
			check.Linux,
		},
		{"a class for Windows", "x: y", "windows", "nginx", check.Windows},
		{"a class that says nothing", "x: y", "neither", "nginx", check.Either},
		{"tolerations say what it is meant for", "tolerations: [{key: os, value: Windows}]", "", "x", check.Windows},
		{"a toleration of Linux decides nothing", "tolerations: [{key: os, value: linux}]", "", "x", check.Either},
		{"a toleration of the key alone", "tolerations: [{key: os, operator: Exists}]", "", "x", check.Either},
		{"an image for Windows", "x: y", "", "mcr.microsoft.com/windows/servercore:ltsc2022", check.Windows},
		{
			"a HostProcess pod", "securityContext: {windowsOptions: {hostProcess: true}}", "", "nginx", check.Windows,
		},
		{
			"a selector before HostProcess",
			"nodeSelector: {kubernetes.io/os: linux}, securityContext: {windowsOptions: {hostProcess: true}}", "", "nginx",
			check.Linux,
		},
		{
			"no HostProcess pod", "securityContext: {windowsOptions: {hostProcess: false}}", "", "nginx", check.Either,
		},
		{"an image for Linux decides nothing", "x: y", "", "nginx", check.Either},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {" + tc.spec + ", containers: [{name: c, image: '" + tc.image + "'}]"
			var inputs []string
			if tc.class == "" {
				inputs = []string{pod + "}\n"}
			} else { // the class comes after the pod, or before it
				pod += ", runtimeClassName: c}\n"
				inputs = []string{pod + fmt.Sprintf(class, tc.class), fmt.Sprintf(class, tc.class) + "---\n" + pod}
			}

			for _, in := range inputs {
				pods := map[check.OS]int{}
				for _, r := range run(t, check.Options{Kubernetes: 37}, in) {
					for s, n := range r.Pods {
						pods[s] += n
					}
				}

				if diff := cmp.Diff(map[check.OS]int{tc.want: 1}, pods); diff != "" {
					t.Errorf("pods (-want +got):\n%s\n%s", diff, in)
				}
			}
		})
	}
}

// TestWaiting checks the findings of a pod that waits for its class: none of a rule for undecided pods if the class
// decides for Windows, none at all if it decides for Linux, and fixes only in the first case.
func TestWaiting(t *testing.T) {
	pod := "apiVersion: v1\nkind: Pod\nspec:\n  runtimeClassName: c\n  hostPID: true\n  containers: [{name: c, image: i}]\n---\n"
	for class, want := range map[string]string{
		"windows": "host-pid at 5, 1 edits",
		"linux":   "",
		"neither": "os-undecided at 1, 0 edits; host-pid at 5, 0 edits",
	} {
		var got []string
		for _, r := range run(t, check.Options{Kubernetes: 37},
			pod+"apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: c}\nscheduling: {nodeSelector: {kubernetes.io/os: "+class+"}}\n") {
			for _, f := range r.Findings {
				got = append(got, fmt.Sprintf("%s at %d, %d edits", f.Rule.ID, f.Line, len(f.Edits)))
			}
		}

		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%s: %q, want %q", class, s, want)
		}
	}
}

// TestAcrossStreams holds that objects of several files are judged together, that a finding is of its own file, that
// namespaces are kept apart, and that a second input knows nothing of the first.
func TestAcrossStreams(t *testing.T) {
	service := "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: %s}\nspec:\n  selector: {app: a}\n  externalTrafficPolicy: Local\n"
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: one, labels: {app: a, more: b}}\nspec: {nodeSelector: {kubernetes.io/os: windows}}\n"
	c, err := check.New(rules.All(), check.Options{Kubernetes: 37, Windows: winver.All()})
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	emit := func(r check.Result) error {
		for _, f := range r.Findings {
			got = append(got, fmt.Sprintf("%s %s:%d %q", f.Rule.ID, f.File, f.Line, f.Snippet))
		}
		return nil
	}

	for _, s := range []struct{ file, text string }{
		{"one", fmt.Sprintf(service, "one")},
		{"two", fmt.Sprintf(service, "two")},
		{"three", pod},
	} {
		if err := c.Run(t.Context(), s.file, strings.NewReader(s.text), emit); err != nil {
			t.Fatal(err)
		}
	}

	for range 2 {
		if err := c.Finish(emit); err != nil {
			t.Fatal(err)
		}
	}

	if diff := cmp.Diff([]string{`service-local-traffic one:6 "  externalTrafficPolicy: Local"`}, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestBoundedMemory holds that labels, which a hostile manifest fills, are dropped beyond a bound, and that this is
// said.
func TestBoundedMemory(t *testing.T) {
	in := "apiVersion: v1\nkind: Pod\nmetadata: {labels: {a: b}}\nspec: {hostPID: true, runtimeClassName: " + strings.Repeat("c", 70<<10) + "}\n"
	got := run(t, check.Options{Kubernetes: 37}, in)
	if len(got) != 2 || len(got[0].Findings) != 2 || len(got[1].Faults) != 1 ||
		!strings.Contains(got[1].Faults[0].Message, "64 MiB") {
		t.Errorf("%+v, want the pod judged as undecided at once, and a fault at the end", got)
	}
}

func TestRange(t *testing.T) {
	for want, r := range map[string]check.Rule{
		"": {}, "from Kubernetes 1.30 on, before Kubernetes 1.34": {Since: 30, Until: 34},
		"from Windows 2004 on, before Windows ltsc2022": {
			SinceBuild: 19041,
			UntilBuild: 20348,
		}, "before Windows build 5": {UntilBuild: 5},
	} {
		if got := r.Range(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}

	in := "apiVersion: v1\nkind: Pod\nspec: {nodeSelector: {kubernetes.io/os: windows}, terminationGracePeriodSeconds: 60}\n"
	for minor, want := range map[int]int{23: 1, 24: 0} {
		got := run(t, check.Options{Kubernetes: minor}, in)
		if len(got[0].Findings) != want {
			t.Errorf("1.%d: %d findings", minor, len(got[0].Findings))
		} else if want == 1 && (!strings.Contains(got[0].Findings[0].Message, "before Kubernetes 1.24") ||
			len(got[0].Findings[0].Windows) != len(winver.All())) {
			t.Errorf("%+v", got[0].Findings[0])
		}
	}
}

func TestParseImage(t *testing.T) {
	for ref, want := range map[string]check.Image{
		"":                        {Tag: "latest"},
		"docker.io/library/nginx": {Repository: "nginx", Tag: "latest", OS: check.Linux, Why: "the repository says so"},
		"nginx@sha256:0":          {Repository: "nginx", Digest: true, OS: check.Linux, Why: "the repository says so"},
		"registry:5000/nginx":     {Repository: "registry:5000/nginx", Tag: "latest"},
		"mcr.microsoft.com/Windows/NanoServer:LTSC2022-amd64": {
			Repository: "mcr.microsoft.com/windows/nanoserver",
			Tag:        "ltsc2022-amd64",
			OS:         check.Windows,
			Why:        "the repository says so",
			Build:      20348,
			Base:       true,
		},
		"mcr.microsoft.com/windows/servercore:10.0.17763.6414": {
			Repository: "mcr.microsoft.com/windows/servercore",
			Tag:        "10.0.17763.6414",
			OS:         check.Windows,
			Why:        "the repository says so",
			Build:      17763,
			Base:       true,
		},
		"mcr.microsoft.com/dotnet/framework/aspnet:4.8": {
			Repository: "mcr.microsoft.com/dotnet/framework/aspnet",
			Tag:        "4.8",
			OS:         check.Windows,
			Why:        "the repository says so",
		},
		"mcr.microsoft.com/dotnet/runtime:8.0-nanoserver-1809": {
			Repository: "mcr.microsoft.com/dotnet/runtime",
			Tag:        "8.0-nanoserver-1809",
			OS:         check.Windows,
			Why:        "the tag says so",
			Build:      17763,
		},
		"mcr.microsoft.com/dotnet/runtime:8.0-nanoserver-20h2-amd64": {
			Repository: "mcr.microsoft.com/dotnet/runtime",
			Tag:        "8.0-nanoserver-20h2-amd64",
			OS:         check.Windows,
			Why:        "the tag says so",
			Build:      19042,
		},
		"mcr.microsoft.com/dotnet/aspnet:8.0-jammy": {
			Repository: "mcr.microsoft.com/dotnet/aspnet",
			Tag:        "8.0-jammy",
			OS:         check.Linux,
			Why:        "the tag says so",
			Guessed:    true,
		},
		"golang:1.26-windowsservercore-ltsc2025": {
			Repository: "golang",
			Tag:        "1.26-windowsservercore-ltsc2025",
			OS:         check.Windows,
			Why:        "the tag says so",
			Build:      26100,
		},
		"golang:1.26":          {Repository: "golang", Tag: "1.26"},
		"r.example.com/a:2019": {Repository: "r.example.com/a", Tag: "2019"},
		"r.example.com/windows-tool:1.2": {
			Repository: "r.example.com/windows-tool",
			Tag:        "1.2",
		},
		"{{ .Values.image }}": {
			Repository: "{{ .values.image }}",
			Tag:        "latest",
		},
	} {
		if diff := cmp.Diff(want, check.ParseImage(ref)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", ref, diff)
		}
	}
}
