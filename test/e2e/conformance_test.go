//go:build conformance

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/conformance/result"
	"mullion.dev/mullion/internal/conformance/suite"
	"mullion.dev/mullion/test/built"
)

// conformanceYAML uses other subnets than the other tests' clusters. Some specs want two Windows nodes, one a Linux
// node. They are of the build that a cluster has by default.
const conformanceYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-conformance
networking:
  underlaySubnet: 10.207.0.0/24
  podSubnet: 10.208.0.0/16
  serviceSubnet: 10.209.0.0/16
nodes:
- os: linux
- os: windows
  count: 2
`

// containerdConformanceYAML is the same with kubelets that call upstream's containerd.exe.
var containerdConformanceYAML = strings.NewReplacer("count: 2", "count: 2\n  runtime: containerd",
	"mullion-conformance", "mullion-ctdconform", "10.207.", "10.217.", "10.208.", "10.67.", "10.209.", "10.167.").
	Replace(conformanceYAML)

// conformanceSuite is the suite that is run; each of its specs has to pass. As in upstream's jobs, a failing spec is
// tried a second time: the machines of CI are shared, and some specs have timeouts of seconds.
const conformanceSuite = "smoke"

// TestConformance brings up a cluster and runs suite smoke of Kubernetes' own e2e tests on it, as `mullion conformance
// run` does for a user. Each spec is a subtest. The results of a run that did not pass are kept in conformance-results.
func TestConformance(t *testing.T) {
	testrun.Once(t, "its specs have a second attempt of their own")
	needs(t)
	conforms(t, conformanceYAML, "")
}

// TestFieldConformanceContainerd runs the same suite where both Windows nodes have runtime: containerd. HostProcess
// pods are refused there.
func TestFieldConformanceContainerd(t *testing.T) {
	testrun.Once(t, "its specs have a second attempt of their own")
	needs(t, program("e2e/e2e.test", "Kubernetes' tests", "e2e"),
		program("containerd-windows/containerd-shim-runhcs-v1.exe", "containerd.exe", "containerd-windows"))
	conforms(t, containerdConformanceYAML, "HostProcess containers should run as a process on the host/node")
}

// specsFailed is the exit code of `mullion conformance run` if a spec failed.
const specsFailed = 7

// conforms runs the suite on a cluster of its own. The specs whose names have refused, unless "", have to fail.
func conforms(t *testing.T, yaml, refused string) {
	t.Helper()
	bin := built.Dir(t)
	if _, err := os.Stat(filepath.Join(bin, "e2e", "e2e.test")); err != nil {
		t.Fatalf("run `make build e2e` first: %v", err)
	}

	c := newCluster(t)
	c.bringUp(t, yaml, "--wait", "15m") // containerd.exe is slower

	results := filepath.Join(built.Repository(), "conformance-results")
	before, err := result.History(results, conformanceSuite)
	if err != nil {
		t.Fatal(err)
	}

	out, runErr := c.mullion(t.Context(), t, "conformance", "run", conformanceSuite, "--flake-attempts", "2",
		"--results", results)
	t.Logf("mullion conformance run:\n%s", out)
	runs, err := result.History(results, conformanceSuite)
	if err != nil || len(runs) == len(before) {
		logs(t, c)
		t.Fatalf("no results: %v; mullion conformance run: %v\n%s", err, runErr, out)
	}

	c.judge(t, runs[0], refused)
	var ended *exec.ExitError
	if errors.As(runErr, &ended) && ended.ExitCode() == specsFailed && refused != "" {
		runErr = nil // judge has looked at each
	}
	if runErr != nil {
		t.Errorf("mullion conformance run: %v", runErr)
	}
	if t.Failed() {
		logs(t, c)
		t.Errorf("the results are in %s: see index.html there", runs[0])
		return
	}

	if err := os.RemoveAll(runs[0]); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{filepath.Dir(runs[0]), results} {
		_ = os.Remove(dir) // unless there are other runs
	}
}

// judge makes a subtest of each spec of a run and fails those that did not pass, or did though they are refused.
func (c cluster) judge(t *testing.T, run, refused string) {
	t.Helper()
	results, err := result.Load(run)
	if err != nil {
		t.Fatal(err)
	}
	s, err := suite.Lookup(conformanceSuite)
	if err != nil {
		t.Fatal(err)
	}

	specs := results.All()
	if results.Run.End != result.Complete || results.Run.Focus != s.Focus || len(specs) < 20 {
		t.Errorf("the run of %d specs is %s: %s", len(specs), results.Run.End, results.Run.Reason)
	}

	for _, spec := range specs {
		t.Run(spec.Name, func(t *testing.T) {
			if refused != "" && strings.Contains(spec.Name, refused) {
				if spec.State != result.Failed {
					t.Errorf("it is to fail on these nodes, and is %s", spec.State)
				}
				return
			}
			switch spec.State {
			case result.Passed:
			case result.Flaky:
				t.Logf("passed at the second attempt: %s", spec.Message)
			default:
				t.Errorf("%s after %.0f s: %s\n%s", spec.State, spec.Seconds, spec.Message, spec.Location)
			}
		})
	}
}
