// Command kubemod writes the module file of a bundle of another version of Kubernetes:
//
//	go run ./hack/kubemod v1.35.8
//
// The file is upstream/cluster/kubernetes/1.35.mod, with 1.35.sum beside it. With `-modfile 1.35.mod` the go command
// uses them in place of go.mod. The file has the requirements of that version's own go.mod. Kubernetes' staging
// modules, which are folders there, have the version that they are published with: v0.35.8.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// folder is the folder of the module, below the repository.
const folder = "upstream/cluster/kubernetes"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "kubemod: want a version of Kubernetes, for example v1.35.8")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "kubemod:", err)
		os.Exit(1)
	}
}

func run(version string) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return fmt.Errorf("%q is no version, for example v1.35.8", version)
	}
	theirs, err := download(version)
	if err != nil {
		return err
	}

	ours, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return err
	}
	text, err := module(version, theirs, ours)
	if err != nil {
		return err
	}

	name := strings.TrimPrefix(semver.MajorMinor(version), "v")
	if err := os.WriteFile(filepath.Join(folder, name+".mod"), text, 0o644); err != nil {
		return err
	}

	// The programs' sums, of both systems.
	for system, packages := range map[string][]string{
		"linux":   {"./hyperkube", "k8s.io/kubernetes/test/images/agnhost"},
		"windows": {"k8s.io/kubernetes/cmd/kubelet", "k8s.io/kubernetes/cmd/kube-proxy"},
	} {
		list := exec.Command("go", append([]string{"list", "-mod=mod", "-modfile=" + name + ".mod", "-deps"}, packages...)...)
		list.Dir = folder
		list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		list.Stderr = os.Stderr
		if err := list.Run(); err != nil {
			return fmt.Errorf("find what the programs for %s are made of: %w", system, err)
		}
	}

	return nil
}

// download returns the go.mod of a version of Kubernetes.
func download(version string) ([]byte, error) {
	out, err := exec.Command("go", "mod", "download", "-json", "k8s.io/kubernetes@"+version).Output()
	var got struct{ GoMod, Error string }
	if jsonErr := json.Unmarshal(out, &got); jsonErr != nil {
		return nil, errors.Join(err, jsonErr)
	}
	if got.Error != "" {
		return nil, errors.New(got.Error)
	}
	return os.ReadFile(got.GoMod)
}

// module makes the module file from theirs, that version's go.mod, and ours, the go.mod of the version that Mullion
// comes with. It takes the module's name and its tools from ours.
func module(version string, theirs, ours []byte) ([]byte, error) {
	from, err := modfile.Parse("k8s.io/kubernetes/go.mod", theirs, nil)
	if err != nil {
		return nil, err
	}
	like, err := modfile.Parse(folder+"/go.mod", ours, nil)
	if err != nil {
		return nil, err
	}

	staging := map[string]bool{}
	for _, r := range from.Replace {
		if !strings.HasPrefix(r.New.Path, "./staging/") {
			return nil, fmt.Errorf("%s replaces %s by %s, which is not one of its own folders", version, r.Old.Path, r.New.Path)
		}
		staging[r.Old.Path] = true
	}

	published := "v0" + strings.TrimPrefix(version, "v1")
	f := new(modfile.File)
	if err := errors.Join(f.AddModuleStmt(like.Module.Mod.Path), f.AddGoStmt(from.Go.Version)); err != nil {
		return nil, err
	}

	for _, tool := range like.Tool {
		if err := f.AddTool(tool.Path); err != nil {
			return nil, err
		}
	}

	f.AddNewRequire("k8s.io/kubernetes", version, false)
	for _, r := range from.Require {
		v := r.Mod.Version
		if staging[r.Mod.Path] {
			v = published
		}
		f.AddNewRequire(r.Mod.Path, v, r.Indirect)
	}

	var replaced []string
	for path := range staging {
		replaced = append(replaced, path)
	}

	slices.Sort(replaced)
	for _, path := range replaced {
		if err := f.AddReplace(path, "", path, published); err != nil {
			return nil, err
		}
	}

	f.Cleanup()
	return f.Format()
}
