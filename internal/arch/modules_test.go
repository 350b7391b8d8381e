package arch_test

import (
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// sharing are the module files below upstream/cluster whose Linux programs are built with the compiled packages of
// mullion. A package is compiled once for all of them only as long as it and all that it imports have the same versions
// everywhere.
var sharing = []string{"coredns/go.mod", "metrics-server/go.mod", "containerd/go.mod", "kubernetes/linux.mod"}

// apart are modules that Mullion's Linux programs do not import, so their versions may differ: they are of programs for
// Windows, of tests, and of tools in hack.
var apart = map[string]bool{
	"github.com/Microsoft/go-winio":               true,
	"github.com/container-storage-interface/spec": true,
	"github.com/onsi/ginkgo/v2":                   true,
	"github.com/onsi/gomega":                      true,
	"golang.org/x/mod":                            true,
	"golang.org/x/tools":                          true,
}

// versions returns the versions that a module file selects, by the path of the module.
func versions(t *testing.T, file string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", filepath.Base(file))
	cmd.Dir = filepath.Dir(file)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("read %s: %v", file, err)
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
	main := versions(t, filepath.Join(root, "go.mod"))
	for _, name := range sharing {
		t.Run(name, func(t *testing.T) {
			there := versions(t, filepath.Join(root, "upstream/cluster", name))
			shared := 0
			for _, path := range slices.Sorted(maps.Keys(there)) {
				if main[path] == "" || apart[path] {
					continue
				}
				shared++
				if main[path] != there[path] {
					t.Errorf(
						"%[1]s is %[2]s in go.mod and %[3]s in upstream/cluster/%[4]s, so what imports it is compiled twice: give both the newer version, with"+
							" `go get -modfile=FILE %[1]s@VERSION` in the folder of each", path, main[path], there[path], name)
				}
			}

			if shared < 20 {
				t.Errorf("go.mod and upstream/cluster/%s have only %d modules in common", name, shared)
			}
		})
	}
}
