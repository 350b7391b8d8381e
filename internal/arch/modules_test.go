package arch_test

import (
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// sharing are the modules below upstream whose Linux programs are built with the compiled packages of mullion. A
// package is compiled once for all of them only as long as it and all that it imports have the same versions
// everywhere.
var sharing = []string{"coredns", "metrics-server"}

// versions are the versions that a go.mod selects, by the path of the module.
func versions(t *testing.T, dir string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("read go.mod of %s: %v", dir, err)
	}
	var mod struct {
		Require []struct{ Path, Version string }
		Replace []struct {
			Old, New struct{ Path, Version string }
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	selected := map[string]string{}
	for _, r := range mod.Require {
		selected[r.Path] = r.Version
	}
	for _, r := range mod.Replace {
		selected[r.Old.Path] = r.New.Version
	}
	return selected
}

func TestSharedModulesHaveOneVersion(t *testing.T) {
	main := versions(t, root)
	for _, name := range sharing {
		t.Run(name, func(t *testing.T) {
			there := versions(t, filepath.Join(root, "upstream", name))
			shared := 0
			for _, path := range slices.Sorted(maps.Keys(there)) {
				if main[path] == "" {
					continue
				}
				shared++
				if main[path] != there[path] {
					t.Errorf(
						"%[1]s is %[2]s in go.mod and %[3]s in upstream/%[4]s/go.mod, so what imports it is compiled twice: give both the newer version, with"+
							" `go get %[1]s@VERSION` or `go -C upstream/%[4]s get %[1]s@VERSION`, and then `go mod tidy` there", path, main[path], there[path], name)
				}
			}
			if shared < 20 {
				t.Errorf("go.mod and upstream/%s/go.mod have only %d modules in common", name, shared)
			}
		})
	}
}
