package page

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/conformance/result"
)

// runOf writes a run whose specs have the states given, in a folder of results.
func runOf(t *testing.T, results, id string, end result.End, states map[string]result.State) string {
	t.Helper()
	start, err := time.Parse("20060102T150405Z", id)
	if err != nil {
		t.Fatal(err)
	}

	run := result.Run{
		ID:        id,
		Suite:     "parallel",
		Server:    "v1.36.3",
		Test:      "v1.36.3",
		Mullion:   "v0.1.0",
		Processes: 4,
		Emulated:  true,
		Start:     start,
		End:       end,
		Reason:    "stopped by the user",
		Nodes: []result.Node{{
			Name:    "win-1",
			OS:      "windows",
			Image:   "Windows Server 2022 Datacenter",
			Runtime: "containerd://v0.1.0",
		}},
		StandIns: map[string]string{"registry.k8s.io/pause:3.10.2": "ours"},
		Planned:  []string{"[sig-node] never begun"},
	}

	f, err := result.Create(results, run)
	if err != nil {
		t.Fatal(err)
	}

	n := 0
	for name, state := range states {
		n++
		s := result.Spec{
			Number:  n,
			Name:    name,
			State:   state,
			Seconds: 1.5,
			Start:   start,
		}

		output, log := "", ""
		if state == result.Failed {
			s.Message = "timed out <script>alert(1)</script>\nsecond line \x1b[31m"
			s.Location = "k8s.io/x.go:7"
			s.Nodes = []string{"win-1"}
			output, log = "the spec's output", "the kubelet's words"
		}

		if err := f.Add(s, output, log); err != nil {
			t.Fatal(err)
		}
	}

	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return f.Path
}

func TestWrite(t *testing.T) {
	results := t.TempDir()
	old := runOf(t, results, "20261120T090000Z", result.Complete,
		map[string]result.State{
			"[sig-node] Pods a [Conformance]": result.Failed,
			"[sig-node] gone since":           result.Passed,
		})

	now := runOf(t, results, "20261121T090000Z", result.Partial, map[string]result.State{
		"[sig-node] Pods a [Conformance]":                         result.Passed,
		"[sig-windows] Hybrid should provide Internet connection": result.Failed,
		"[sig-storage] b": result.Flaky, "[sig-storage] c": result.Skipped,
	})
	causes, err := result.KnownCauses()
	if err != nil {
		t.Fatal(err)
	}

	file, err := Write(now, []string{now, old}, causes)
	if err != nil {
		t.Fatal(err)
	}

	read := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(now, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}

	html := read(filepath.Base(file))
	for _, want := range []string{
		"The run is partial: stopped by the user.", "not Windows Server", "1 of the test images", "needs Internet",
		"the spec&#39;s output", "the kubelet&#39;s words",
		"k8s.io/x.go:7", "registry.k8s.io/pause:3.10.2", "timed out &lt;script&gt;",
		`title="failed in 20261120T090000Z`, "never begun", "gone since",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}

	for _, never := range []string{"<script>alert", "http-equiv", "src=", "<link"} {
		if strings.Contains(html, never) {
			t.Errorf("the page has %q", never)
		}
	}

	md := read(MarkdownFile)
	if !strings.Contains(md, "| **all** | 5 | 1 | 1 | 1 | 1 | 0 | 1 |") ||
		!strings.Contains(md, "| failed | needs Internet") {
		t.Errorf("summary:\n%s", md)
	}

	var junit struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
		Cases    []struct {
			Name string `xml:"name,attr"`
		} `xml:"testcase"`
	}

	if err := xml.Unmarshal([]byte(read(JUnitFile)), &junit); err != nil || junit.Tests != 5 || junit.Failures != 1 ||
		junit.Skipped != 2 || len(junit.Cases) != 5 {
		t.Errorf("JUnit: %+v, %v", junit, err)
	}
	var all result.Results
	if err := json.Unmarshal([]byte(read(JSONFile)), &all); err != nil || len(all.Specs) != 4 ||
		all.Run.End != result.Partial {
		t.Errorf("JSON: %v", err)
	}
}

// TestFilesElsewhere checks that files outside the folder of results do not get onto the page, even if the results name
// them.
func TestFilesElsewhere(t *testing.T) {
	folder := t.TempDir()
	secret := filepath.Join(filepath.Dir(folder), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../secret", secret} {
		if got := readFile(folder, name); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestLongLogKeepsTheEnd(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "x.log"), []byte(strings.Repeat("line\n", maxLog)+"end"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if got := end(readFile(folder, "x.log"), "x.log"); len(got) > maxLog+200 || !strings.HasSuffix(got, "end") ||
		!strings.HasPrefix(got, "(the beginning") {
		t.Errorf("%d bytes", len(got))
	}
}
