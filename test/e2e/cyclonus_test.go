//go:build cluster

package e2e

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// agnhostOfCyclonus is the image of Cyclonus' pods.
const agnhostOfCyclonus = "registry.k8s.io/e2e-test-images/agnhost:2.43"

// TestFieldCyclonus has Cyclonus judge how NetworkPolicies are carried out: it makes policies, calls between nine pods
// in three namespaces, and compares what passes with what its own reading of the policies says. Its pods choose no
// system, so each cluster has nodes of one. Cases are chosen by their tags, in MULLION_CYCLONUS for others than these;
// "default" there are the cases that Cyclonus chooses itself.
func TestFieldCyclonus(t *testing.T) {
	needs(t, program("cyclonus/cyclonus", "Cyclonus", "cyclonus"))

	for system, tags := range map[string]string{"linux": "upstream-e2e,action,target", "windows": "action"} {
		t.Run(system, func(t *testing.T) {
			c := newCluster(t)
			cyclonus := filepath.Join(c.bin, "cyclonus/cyclonus")
			cases := []string{"--include", cmp.Or(os.Getenv("MULLION_CYCLONUS"), tags), "--exclude", ""}
			if cases[1] == "default" {
				cases = nil
			}

			c.cyclonusCluster(t, system)
			report := filepath.Join(c.home, "report.xml")
			run := exec.CommandContext(t.Context(), cyclonus, append([]string{
				"generate", "--server-protocol", "TCP",
				"--destination-type", "pod-ip", "--ignore-loopback", "--perturbation-wait-seconds", "2",
				"--job-timeout-seconds", "1", "--retries", "2", "--pod-creation-timeout-seconds", "300",
				"--junit-results-file", report,
			}, cases...)...)

			run.Env = c.env()
			out, err := run.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if !cyclonusPassed(t, report) {
				t.Logf("%s", out)
			}
		})
	}
}

// cyclonusCluster brings up two nodes of a system that have the image of Cyclonus' pods.
func (c cluster) cyclonusCluster(t *testing.T, system string) {
	t.Helper()
	text := fmt.Sprintf(`apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-cyclonus
networking: {underlaySubnet: 10.236.0.0/24, podSubnet: 10.237.0.0/16, serviceSubnet: 10.238.0.0/16}
nodes: [{os: %[1]s}, {os: %[1]s}]
`, system)

	c.bringUp(t, text)
	if system == "linux" {
		c.must(t, "image", "build", filepath.Join(c.bin, "linux/agnhost"), "--os", "linux", "-t", agnhostOfCyclonus)
		return
	}

	folder := filepath.Join(c.home, "agnhost")
	laid(t, map[string]string{filepath.Join(folder, "agnhost.exe"): filepath.Join(c.bin, "windows/agnhost.exe")})
	c.must(t, "image", "build", folder, "-t", agnhostOfCyclonus)
}

// cyclonusPassed reads Cyclonus' report, in which every case must have passed.
func cyclonusPassed(t *testing.T, report string) bool {
	t.Helper()
	data, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}

	var suite struct {
		Cases []struct {
			Name    string    `xml:"name,attr"`
			Failure *struct{} `xml:"failure"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal(data, &suite); err != nil {
		t.Fatal(err)
	}

	var failed []string
	for _, c := range suite.Cases {
		if c.Failure != nil {
			failed = append(failed, c.Name)
		}
	}

	t.Logf("%d of %d cases passed", len(suite.Cases)-len(failed), len(suite.Cases))
	if len(suite.Cases) == 0 || len(failed) > 0 {
		t.Errorf("these failed:\n%s", strings.Join(failed, "\n"))
	}
	return !t.Failed()
}
