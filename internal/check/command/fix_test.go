package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/check/command"
)

func TestFix(t *testing.T) {
	const before = "# a pod\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  os: {name: windows}\n  hostPID: true # known\n  containers: [] # none\n"
	const after = "# a pod\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  os: {name: windows}\n  containers: [] # none\n  nodeSelector: {kubernetes.io/os: windows}\n"
	dir := write(t, map[string]string{"pod.yaml": before})
	file := filepath.Join(dir, "pod.yaml")
	read := func() string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}

	got, out, err := run(t, command.Options{
		Offline: true,
		Paths:   []string{dir},
		Dir:     dir,
		Fix:     command.FixDiff,
	}, "")
	if err != nil || !got.Findings || read() != before || !strings.Contains(out, "\n-  hostPID: true # known\n") ||
		!strings.Contains(out, "\n+  nodeSelector:") {
		t.Fatalf("diff: %+v, %v\n%s", got, err, out)
	}

	for range 2 {
		got, out, err = run(t, command.Options{
			Offline: true,
			Paths:   []string{dir},
			Dir:     dir,
			Fix:     command.FixWrite,
		}, "")
		if err != nil || got.Findings || read() != after || !strings.Contains(out, "0 errors, 0 warnings") {
			t.Fatalf("write: %+v, %v\n%s\n%s", got, err, out, read())
		}
	}

	if _, _, err := run(t, command.Options{
		Offline: true,
		Dir:     dir,
		Fix:     command.FixWrite,
	}, before); err == nil {
		t.Error("standard input was fixed")
	}
	ignored := strings.Replace(before, "{name: p}",
		"{name: p, annotations: {check.mullion.dev/ignore: 'host-pid: we know'}}", 1)
	if err := os.WriteFile(file, []byte(ignored), 0o644); err != nil {
		t.Fatal(err)
	}

	if _, _, err := run(t, command.Options{
		Offline: true,
		Paths:   []string{file},
		Dir:     dir,
		Fix:     command.FixWrite,
	}, ""); err != nil || !strings.Contains(read(), "hostPID") {
		t.Errorf("%v: an ignored finding was fixed:\n%s", err, read())
	}
}
