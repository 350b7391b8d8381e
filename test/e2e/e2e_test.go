//go:build cluster

// Package e2e holds the tests that need a real cluster. One cluster is brought up for all scripts in testdata; each
// script is what a user would type. Afterwards the cluster is taken down and the machine must be as it was.
package e2e

import (
	"cmp"
	"fmt"
	"os"
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
	needs(t)
	c, given := givenCluster(t)
	scenarios := c.chosen(t)
	wanted := suppliesOf(scenarios)
	if !given {
		var flags []string
		if slices.Contains(wanted, sample) {
			flags = []string{"--sample"}
		}
		t.Logf("mullion up:\n%s", c.bringUp(t, clusterYAML, flags...))
		wanted = slices.DeleteFunc(wanted, func(s supply) bool { return s == sample })
	}

	if folder := os.Getenv("E2E_IMAGES"); folder != "" {
		c.home = folder
	}
	for _, s := range wanted {
		c.supply(t, s)
	}

	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			c.hasNodes(t, s.nodes, given)
			s.play(t)
		})
	}
}

// scenario is a part of TestCluster. It says what it has to find on the cluster, makes all else itself, and works on a
// cluster in any state that the others leave.
type scenario struct {
	name string
	play func(t *testing.T)
	// supplies are what the cluster is given before the first scenario.
	supplies []supply
	// nodes are the only ones that it works with; none: it works with those of clusterYAML and with more.
	nodes []string
}

// supply is what scenarios find on the cluster beside its nodes.
type supply string

// The supplies.
const (
	images supply = "the tests' own images"
	sample supply = "the sample of `mullion up --sample`"
)

// suppliesOf returns what some scenarios need, each once.
func suppliesOf(scenarios []scenario) []supply {
	var all []supply
	for _, s := range scenarios {
		for _, one := range s.supplies {
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return all
}

// supply gives the cluster what scenarios need. What is there already is made again.
func (c cluster) supply(t *testing.T, s supply) {
	t.Helper()
	switch s {
	case images:
		c.image(t)
	case sample:
		t.Logf("mullion up --sample:\n%s", c.must(t, "up", "--sample"))
	default:
		t.Fatalf("nobody makes %s", s)
	}
}

// hasNodes leaves a scenario out on a cluster that was given and has other nodes than it works with. The test's own
// cluster has lost or gained a node then, which fails.
func (c cluster) hasNodes(t *testing.T, nodes []string, given bool) {
	t.Helper()
	if len(nodes) == 0 {
		return
	}

	has := strings.Fields(c.kubectl(t, "get", "nodes", "-o", "jsonpath={.items[*].metadata.name}"))
	slices.Sort(has)
	switch {
	case slices.Equal(has, nodes):
	case given:
		t.Skipf("needs a cluster of the nodes %v: this one has %v", nodes, has)
	default:
		t.Fatalf("the cluster has the nodes %v, want %v", has, nodes)
	}
}

// scenarios are played in this order. Only network gains by it: it comes after services and policies, which restart all
// that carries Services out, so that a Service that was not restored shows.
func (c cluster) scenarios(scripts []string) []scenario {
	return []scenario{
		{
			name:     "scripts",
			play:     func(t *testing.T) { t.Helper(); c.scripts(t, scripts) },
			supplies: []supply{images, sample},
		},
		{name: "services", play: c.services, supplies: []supply{images}},
		{name: "policies", play: c.policies, supplies: []supply{images}},
		{name: "network", play: c.network},
		{name: "guide", play: c.guide, supplies: []supply{sample}},
		{name: "quickstart", play: c.quickstart},
		{name: "readers", play: c.readers},
		{name: "memory", play: c.memory},
		{name: "faults", play: c.faults, supplies: []supply{images}},
		{name: "chaos", play: c.chaos, supplies: []supply{images}},
		{name: "overload", play: c.overload, supplies: []supply{images}},
		{name: "nice", play: c.nice, supplies: []supply{images}},
		{name: "eviction", play: c.eviction, supplies: []supply{images}},
		{
			name:     "grow",
			play:     c.grow,
			supplies: []supply{images},
			nodes:    []string{"linux-1", "win-1", "win-2"},
		},
	}
}

// chosen returns the scenarios that E2E_RUN names, or all.
func (c cluster) chosen(t *testing.T) []scenario {
	t.Helper()
	var names []string
	for _, s := range c.scenarios(nil) {
		names = append(names, s.name)
	}
	names, scripts, err := chosen(os.Getenv("E2E_RUN"), names, scriptNames(t))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(c.scenarios(scripts), func(s scenario) bool { return !slices.Contains(names, s.name) })
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
func (c cluster) scripts(t *testing.T, names []string) {
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
			e.Vars = append(e.Vars, "MULLION_DATA_DIR="+c.data, "KUBECONFIG="+c.kubeconfig, "ROOT="+built.Repository(),
				"IMAGES="+c.home, "PATH="+c.path())
			return nil
		},
		Cmds: commands(),
	})
}
