// Package winunit runs the unit tests for Windows of Kubernetes, and of hcsshim, which calls the Host Compute Service
// for containerd and Docker (hcsshim.yaml): cross-compiled from the pinned modules and unmodified,
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

	"sigs.k8s.io/yaml"

	"mullion.dev/mullion/test/judge"
)

//go:embed packages.yaml
var kubernetesTable []byte

//go:embed hcsshim.yaml
var hcsshimTable []byte

// suite is a module of upstream's whose unit tests run.
type suite struct {
	// dir is the module of this repository that pins it, prefix what the paths of its packages have in common.
	dir, prefix string
	// file is the name of the table.
	file  string
	table []byte
}

func kubernetes() suite {
	return suite{
		dir: "../../upstream/cluster/kubernetes", prefix: "k8s.io/",
		file: "packages.yaml", table: kubernetesTable,
	}
}

func hcsshim() suite {
	return suite{
		dir: "../../upstream/test/hcsshim", prefix: "github.com/Microsoft/hcsshim/",
		file: "hcsshim.yaml", table: hcsshimTable,
	}
}

// unit is a package of tests.
type unit struct {
	// Path is the package's import path.
	Path string `json:"path"`
	// Rung says that it runs in `make test`; the others run with `make test-units`.
	Rung bool `json:"rung,omitempty"`
	// Why a package is there, or why it is not in the rung.
	Note string `json:"note"`
	// Known are the tests that fail.
	Known []judge.Known `json:"known,omitempty"`
}

// units reads the table.
func (s suite) units() ([]unit, error) {
	var list []unit
	if err := yaml.UnmarshalStrict(s.table, &list); err != nil {
		return nil, fmt.Errorf("read %s: %w", s.file, err)
	}
	for i, u := range list {
		if u.Path == "" || u.Note == "" || (i > 0 && list[i-1].Path >= u.Path) {
			return nil, fmt.Errorf("%s: %q has no path or note, or is not in order", s.file, u.Path)
		}
		if err := judge.Check(u.Known); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", s.file, u.Path, err)
		}
	}
	return list, nil
}
