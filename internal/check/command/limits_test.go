package command_test

import (
	"fmt"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/check/command"
)

// TestLongValues: of what strangers wrote no more is echoed than somebody reads, in every format.
func TestLongValues(t *testing.T) {
	long := strings.Repeat("ü", 1<<16)
	pod := func(meta, spec string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {" + meta + "}\nspec:\n  os: {name: windows}\n" +
			"  nodeSelector: {kubernetes.io/os: windows}\n  hostPID: true\n  " + spec + "\n"
	}

	for name, in := range map[string]string{
		"name":       pod("name: "+long, ""),
		"namespace":  pod("name: p, namespace: "+long, ""),
		"kind":       "apiVersion: v1\nkind: " + long + "\nmetadata: {name: p}\n",
		"list":       "apiVersion: v1\nkind: List\nitems: [{kind: " + long + "}, {kind: Pod, spec: {os: {name: windows}, hostPID: true}}]\n",
		"reason":     pod("name: p, annotations: {check.mullion.dev/ignore: 'host-pid: "+long+"'}", ""),
		"no rule":    pod("name: p, annotations: {check.mullion.dev/ignore: '"+long+": x'}", ""),
		"image":      pod("name: p", "containers: [{name: c, image: 'x:"+long+"'}]"),
		"container":  pod("name: p", "containers: [{name: "+long+", image: x, securityContext: {privileged: true}}]"),
		"command":    pod("name: p", "containers: [{name: c, image: x, command: [sh, -c, "+long+"]}]"),
		"variable":   pod("name: p", "containers: [{name: c, image: x, env: [{name: A, value: '%"+long+"%'}]}]"),
		"volume":     pod("name: p", "volumes: [{name: "+long+", hostPath: {path: /x, type: BlockDevice}}]"),
		"field":      pod("name: p", long+": true"),
		"bad yaml":   "a: &" + long + " b\nc: *" + long + "x\n",
		"no YAML":    "{{ " + long,
		"key of key": "a: {" + long + ": 1, " + long + ": 2}\n",
	} {
		for _, format := range command.Outputs() {
			o := command.Options{
				Offline:        true,
				Dir:            t.TempDir(),
				Output:         format,
				ShowSuppressed: true,
				FailOn:         "info",
			}

			_, out, err := run(t, o, in)
			if err != nil {
				t.Fatal(err)
			}
			if len(out) > 40_000 {
				t.Errorf("%s of %d bytes: %s prints %d", name, len(in), format, len(out))
			}
		}
	}
}

// TestManyFindings: of a file with very many findings and of one with very many faults so many are listed as somebody
// reads, the rest is counted, and both files are named. What is not listed counts all the same.
func TestManyFindings(t *testing.T) {
	const n = 6000
	warned := "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {os: {name: windows}, shareProcessNamespace: true}\n"
	refused := "---\n" + hostPID
	dir := write(t, map[string]string{
		"findings.yaml": strings.Repeat(warned, n) + refused,
		"faults.yaml":   strings.Repeat("---\na: [\n", n),
		"few.yaml":      refused,
	})

	for _, format := range command.Outputs() {
		o := command.Options{
			Offline: true,
			Dir:     dir,
			Paths:   []string{dir},
			Output:  format,
		}

		got, out, err := run(t, o, "")
		if err != nil {
			t.Fatal(err)
		}
		if !got.Findings || !got.Unreadable {
			t.Errorf("%s: %+v", format, got)
		}

		for _, file := range []string{"findings.yaml", "faults.yaml", "few.yaml"} {
			if !strings.Contains(out, file) {
				t.Errorf("%s: %s is not named", format, file)
			}
		}

		if said := strings.Count(out, "the file has more than 5000 findings or faults"); said < 2 || len(out) > 8<<20 {
			t.Errorf("%s says %d times in %d bytes that not all is listed", format, said, len(out))
		}

		if format == "text" {
			for _, want := range []string{fmt.Sprintf("%d errors, ", 2), fmt.Sprintf("; %d faults of reading", n)} {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in the summary: %s", want, out[max(0, len(out)-300):])
				}
			}
		}
	}
}

// TestManyFiles: what a run lists has an end too. All was read, so the exit code is that of the findings.
func TestManyFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a few seconds")
	}
	files := map[string]string{}
	for i := range 7 {
		files[fmt.Sprintf("%d.yaml", i)] = strings.Repeat("---\n"+hostPID, 4500)
	}

	dir := write(t, files)
	got, out, err := run(t, command.Options{
		Offline: true,
		Dir:     dir,
		Paths:   []string{dir},
		Output:  "json",
	}, "")
	if err != nil || !got.Findings || got.Unreadable || got.Code() != command.CodeFindings {
		t.Errorf("%+v, %v", got, err)
	}

	if n := strings.Count(out, `{"finding":`); n != 25_000 {
		t.Errorf("%d findings are listed", n)
	}

	if n := strings.Count(out, "there are more than 25000 findings"); n != 1 || !strings.Contains(out, `"unlisted":true`) {
		t.Errorf("it is said %d times that no more are listed", n)
	}
}

// TestManyDocuments: no more of them are read than a person has, and it is said where reading ended.
func TestManyDocuments(t *testing.T) {
	documents := strings.Repeat("{}\n", 100_000) + hostPID + "---\n" + hostPID
	got, out, err := run(t, command.Options{Offline: true, Dir: t.TempDir()}, documents)
	if err != nil || !got.Unreadable || got.Findings {
		t.Errorf("%+v, %v", got, err)
	}
	if !strings.Contains(out, "<stdin>:100001:1: not read: the file has more than 100000 documents") || len(out) > 1000 {
		t.Errorf("it says, in %d bytes: %.1000s", len(out), out)
	}
}

// TestManyKinds: the summary names some, and counts the rest.
func TestManyKinds(t *testing.T) {
	var in strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&in, "---\napiVersion: x/v1\nkind: Kind%d\n", i)
	}
	_, out, err := run(t, command.Options{Offline: true, Dir: t.TempDir()}, in.String())
	if err != nil || !strings.Contains(out, ", 2970 of more kinds") || len(out) > 2000 {
		t.Errorf("%v, %d bytes: %.500s", err, len(out), out)
	}
}
