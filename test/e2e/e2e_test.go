//go:build cluster

// Package e2e holds the tests that need a real cluster. One cluster is brought up for all scripts in testdata; each
// script is what a user would type. Afterwards the cluster is taken down and the machine must be as it was.
package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"mullion.dev/mullion/test/built"
)

// clusterYAML uses other subnets than a default cluster. Pods that name no node land on a Windows one.
const clusterYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-e2e
networking:
  underlaySubnet: 10.214.0.0/24
  podSubnet: 10.245.0.0/16
  serviceSubnet: 10.97.0.0/16
nodes:
- os: linux
  taint: true
- windowsVersion: ltsc2022
- windowsVersion: ltsc2019
  systemReserved: {memory: 256Mi}
  kubeReserved: {cpu: 100m, memory: 512Mi}
  kubeletConfiguration: {enableSystemLogQuery: true, logging: {verbosity: 3}}
  kubeletExtraArgs: [{name: v, value: "3"}, {name: windows-priorityclass, value: ABOVE_NORMAL_PRIORITY_CLASS}]
  kubeProxyExtraArgs: [{name: v, value: "3"}]
`

func TestCluster(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	bin := built.Dir(t)
	if data := os.Getenv("E2E_DATA_DIR"); data != "" { // a cluster that is up, while scripts are written
		f := fixture{
			bin:         bin,
			data:        data,
			kubeconfig:  filepath.Join(data, "e2e-kubeconfig"),
			home:        t.TempDir(),
			nodeAddress: new(string),
		}
		if built := os.Getenv("E2E_IMAGES"); built != "" {
			f.home = built
		}
		f.image(t)
		t.Run("scripts", f.scripts)
		t.Run("services", f.services)
		t.Run("policies", f.policies)
		t.Run("network", f.network)
		t.Run("guide", f.guide)
		t.Run("readers", f.readers)
		t.Run("faults", f.faults)
		t.Run("chaos", f.chaos)
		t.Run("overload", f.overload)
		t.Run("eviction", f.eviction)
		t.Run("grow", f.grow)
		return
	}
	dir := t.TempDir()
	f := fixture{
		bin:         bin,
		data:        filepath.Join(dir, "data"),
		kubeconfig:  filepath.Join(dir, "kubeconfig"),
		home:        dir,
		nodeAddress: new(string),
	}
	spec := filepath.Join(dir, "cluster.yaml")
	if err := os.WriteFile(spec, []byte(clusterYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.takeDown(t) })

	out, err := f.mullion(t.Context(), t, "up", "-f", spec, "--sample")
	t.Logf("mullion up:\n%s", out)
	if err != nil {
		logs(t, f)
		t.Fatalf("mullion up: %v", err)
	}
	f.image(t)
	ok := t.Run("scripts", f.scripts)
	ok = t.Run("services", f.services) && ok
	ok = t.Run("policies", f.policies) && ok
	ok = t.Run("network", f.network) && ok
	ok = t.Run("guide", f.guide) && ok
	ok = t.Run("readers", f.readers) && ok
	ok = t.Run("faults", f.faults) && ok
	ok = t.Run("chaos", f.chaos) && ok
	ok = t.Run("overload", f.overload) && ok
	ok = t.Run("eviction", f.eviction) && ok
	ok = t.Run("grow", f.grow) && ok
	if !ok {
		logs(t, f)
	}
}

// sideBySide lets a test run beside others that say so too, each with a cluster of its own, after all that do not. Such a
// test measures no time and no load, and shares with the others neither subnets nor names.
func sideBySide(t *testing.T) {
	t.Helper()
	t.Parallel()
}

// scripts runs testdata; all share the cluster.
func (f fixture) scripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		Condition:           condition,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "MULLION_DATA_DIR="+f.data, "KUBECONFIG="+f.kubeconfig, "ROOT="+built.Repository(),
				"IMAGES="+f.home,
				"PATH="+f.bin+":"+os.Getenv("PATH")+":/usr/sbin:/sbin")
			return nil
		},
		Cmds: commands(),
	})
}

// image builds the tests' own programs and their images, and loads them. On a machine without Go, E2E_IMAGES is a
// folder with the programs.
func (f fixture) image(t *testing.T) {
	t.Helper()
	if os.Getenv("E2E_IMAGES") == "" {
		f.buildPrograms(t)
	}
	windows, linux, csi := f.programs()
	for _, args := range [][]string{
		{windows, "-f", "tool/image.yaml"},
		{csi, "-f", "csidriver/image.yaml"},
		{linux, "--os", "linux", "-t", "mullion.local/e2e-linux:v1", "--env", "PATH=/"},
	} {
		if out, err := f.mullion(t.Context(), t, append([]string{"image", "build"}, args...)...); err != nil {
			t.Fatalf("mullion image build: %v\n%s", err, out)
		}
	}
}

// programs returns the folders of the tests' Windows image and of the CSI driver's image, and the Linux program.
func (f fixture) programs() (windows, linux, csi string) {
	return filepath.Join(f.home, "tool"), filepath.Join(f.home, "linux", "tool"), filepath.Join(f.home, "csi")
}

// buildPrograms builds the programs of the tests' images.
func (f fixture) buildPrograms(t *testing.T) {
	t.Helper()
	windows, linux, csi := f.programs()
	for _, b := range []struct{ system, source, file string }{
		{"windows", "./tool", filepath.Join(windows, "tool.exe")},
		{"linux", "./tool", linux},
		{"windows", "./csidriver", filepath.Join(csi, "csidriver.exe")},
	} {
		build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", b.file, b.source)
		build.Env = append(os.Environ(), "GOOS="+b.system, "GOARCH=amd64", "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}
