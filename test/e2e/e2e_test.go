//go:build cluster

// Package e2e holds the tests that need a real cluster. One cluster is brought up for all scripts in testdata; each
// script is what a user would type. Afterwards the cluster is taken down and the machine must be as it was.
package e2e

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"mullion.dev/mullion/hack/kept"
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
	f, given := givenFixture(t)
	scenarios := f.chosen(t)
	if !given {
		t.Logf("mullion up:\n%s", f.bringUp(t, clusterYAML, "--sample"))
	}

	if images := os.Getenv("E2E_IMAGES"); images != "" {
		f.home = images
	}
	f.image(t)
	if ok := f.play(t, scenarios); !ok && !given {
		logs(t, f)
	}
}

// play plays scenarios one after the other, and reports whether all passed.
func (f fixture) play(t *testing.T, scenarios []scenario) bool {
	t.Helper()
	ok := true
	for _, s := range scenarios {
		ok = t.Run(s.name, s.play) && ok
	}
	return ok
}

// scenario is a part of TestCluster. It makes what it needs beside the nodes and images, and works on a cluster in any
// state that the others leave. Only grow wants the nodes of clusterYAML, and no more.
type scenario struct {
	name string
	play func(t *testing.T)
}

// scenarios are played in this order. Only network gains by it: it comes after services and policies, which restart all
// that carries Services out, so that a Service that was not restored shows.
func (f fixture) scenarios(scripts []string) []scenario {
	return []scenario{
		{"scripts", func(t *testing.T) { t.Helper(); f.scripts(t, scripts) }},
		{"services", f.services},
		{"policies", f.policies},
		{"network", f.network},
		{"guide", f.guide},
		{"quickstart", f.quickstart},
		{"readers", f.readers},
		{"faults", f.faults},
		{"chaos", f.chaos},
		{"overload", f.overload},
		{"eviction", f.eviction},
		{"grow", f.grow},
	}
}

// chosen returns the scenarios that E2E_RUN names, or all.
func (f fixture) chosen(t *testing.T) []scenario {
	t.Helper()
	var names []string
	for _, s := range f.scenarios(nil) {
		names = append(names, s.name)
	}
	names, scripts, err := chosen(os.Getenv("E2E_RUN"), names, scriptNames(t))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(f.scenarios(scripts), func(s scenario) bool { return !slices.Contains(names, s.name) })
}

// chosen returns the scenarios and scripts that only names, with commas; "" chooses all. A script's name stands for
// that script alone. A name may be that of both; one that nothing has is an error.
func chosen(only string, scenarios, scripts []string) (chosenScenarios, chosenScripts []string, err error) {
	if only == "" {
		return scenarios, scripts, nil
	}

	for name := range strings.SplitSeq(only, ",") {
		isScenario, isScript := slices.Contains(scenarios, name), slices.Contains(scripts, name)
		if isScenario {
			chosenScenarios = append(chosenScenarios, name)
		}
		if isScript {
			chosenScripts = append(chosenScripts, name)
		}

		if !isScenario && !isScript {
			slices.Sort(scripts)
			return nil, nil, fmt.Errorf("E2E_RUN: no scenario and no script is called %q; there are %s, and the scripts %s",
				name, strings.Join(scenarios, ", "), strings.Join(scripts, ", "))
		}
	}

	switch whole := slices.Contains(chosenScenarios, "scripts"); {
	case whole:
		chosenScripts = scripts
	case len(chosenScripts) > 0:
		chosenScenarios = append(chosenScenarios, "scripts")
	}

	return chosenScenarios, chosenScripts, nil
}

// sideBySide lets a test run beside others that say so too, each with a cluster of its own, after all that do not. Such
// a test measures no time and no load, and shares with the others neither subnets nor names.
func sideBySide(t *testing.T) {
	t.Helper()
	t.Parallel()
}

// scriptNames returns those of testdata's scripts. Those that took longest the last time are at the end: of tests that
// wait to run side by side Go begins with the last, and a script of a minute that begins last is waited for alone.
func scriptNames(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("scripts: %q, %v", files, err)
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".txtar"))
	}

	took := tookLast(t)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(took[a], took[b]) })
	return names
}

// tookLast returns how many seconds each script took in the newest result that is kept.
func tookLast(t *testing.T) map[string]float64 {
	t.Helper()
	results, err := kept.Files(filepath.Join(built.Repository(), "results"), "cluster")
	if err != nil || len(results) == 0 {
		return nil // not in a checkout
	}

	last, err := kept.Read(results[0])
	if err != nil {
		t.Log(err)
		return nil
	}

	took := map[string]float64{}
	for _, test := range last.Tests {
		if name, ok := strings.CutPrefix(test.Name, "test/e2e TestCluster/scripts/"); ok {
			took[name] = test.Seconds
		}
	}

	return took
}

// scripts runs scripts of testdata; all share the cluster.
func (f fixture) scripts(t *testing.T, names []string) {
	t.Helper()
	var files []string
	for _, name := range names {
		files = append(files, filepath.Join("testdata", name+".txtar"))
	}

	testscript.Run(t, testscript.Params{
		Files:               files,
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
		{csi, "-f", "testdata/csidriver/image.yaml"},
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
		{"windows", csiDriver, filepath.Join(csi, "csidriver.exe")},
	} {
		compile(t, b.system, b.source, b.file)
	}
}

// csiDriver is the folder of the tests' driver.
const csiDriver = "../csi/csidriver"

// compile builds the program in a folder, of whatever module, for a system.
func compile(t *testing.T, system, folder, to string) {
	t.Helper()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", to, ".")
	build.Dir = folder
	build.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
