// Package suite holds the suites of Kubernetes' e2e tests that `mullion conformance` runs, as data: those of upstream's
// own Windows jobs, and Mullion's short one. It knows nothing of running them.
package suite

import (
	"fmt"
	"regexp"
	"strings"
)

// Suite is a selection of e2e specs.
type Suite struct {
	// Name is the suite's name on the command line.
	Name string `json:"name"`
	// About describes the suite in a sentence.
	About string `json:"about"`
	// Focus and Skip are the regular expressions (RE2) that Ginkgo matches with a spec's whole name.
	Focus string `json:"focus"`
	Skip  string `json:"skip"`
	// Processes is how many specs upstream runs in parallel.
	Processes int `json:"processes"`
	// Attempts is how often a failing spec is tried.
	Attempts int `json:"attempts"`
	// Source is where upstream has the expressions, with commit and date.
	Source string `json:"source"`
	// Drivers are files that define drivers of storage, each of which adds the specs of External Storage to the tests
	// (https://github.com/kubernetes/kubernetes/blob/v1.37.1/test/e2e/storage/external/README.md).
	Drivers []string `json:"drivers,omitempty"`
}

// The sources of the expressions.
const (
	runCapzE2E = "https://github.com/kubernetes-sigs/windows-testing/blob/461a0fe7218b9076d630367b1dbacc85486bf378/capz/run-capz-e2e.sh (2026-07-23)"
	release136 = "https://github.com/kubernetes/test-infra/blob/4296a5d6977b0cb3ff1b6912f5e37f167f1df853/config/jobs/kubernetes-sigs/sig-windows/release-1.36-windows.yaml (the jobs of release 1.36)"
	masterHPA  = "https://github.com/kubernetes/test-infra/blob/00967f02e1f64329e25fff0d872d74a04dbbfa52/config/jobs/kubernetes-sigs/sig-windows/release-master-windows.yaml (job ci-kubernetes-e2e-capz-master-windows-serial-slow-hpa)"
)

// All returns the suites, Mullion's own first.
func All() []Suite {
	return []Suite{
		{
			Name:      "smoke",
			About:     "one spec for each thing a Windows node can do, in a few minutes",
			Focus:     Exactly(smoke()),
			Processes: 4,
			Attempts:  1,
			Source:    "Mullion's own list",
		},
		{
			Name:      "windows",
			About:     "the specs of SIG Windows itself, without the slow and the serial ones",
			Focus:     `\[sig-windows\]`,
			Skip:      `\[LinuxOnly\]|\[Serial\]|\[Slow\]|\[Excluded:WindowsDocker\]|device.plugin.for.Windows|\[Alpha\]`,
			Processes: 4,
			Attempts:  2,
			Source:    "the part of the suite parallel that has [sig-windows] in its name",
		},
		{
			Name:      "parallel",
			About:     "what upstream's job capz-windows-1.36 runs: conformance, node conformance, SIG Windows and some more",
			Focus:     `\[Conformance\]|\[NodeConformance\]|\[sig-windows\]|\[sig-apps\].CronJob|\[sig-api-machinery\].ResourceQuota|\[sig-scheduling\].SchedulerPreemption`,
			Skip:      `\[LinuxOnly\]|\[Serial\]|\[Slow\]|\[Excluded:WindowsDocker\]|\[Feature:DynamicResourceAllocation\]|Networking.Granular.Checks(.*)node-pod.communication|Guestbook.application.should.create.and.stop.a.working.application|device.plugin.for.Windows|Container.Lifecycle.Hook.when.create.a.pod.with.lifecycle.hook.should.execute(.*)http.hook.properly|\[sig-api-machinery\].Garbage.collector|\[Alpha\]|\[Beta\].\[Feature:OffByDefault\]|\[FeatureGate:HostnameOverride\]|should.run.with.an.image.specified.user.ID|should.support.memory.backed.volumes.of.specified.size`,
			Processes: 4,
			Attempts:  2,
			Source:    runCapzE2E,
		},
		{
			Name:  "serial",
			About: "what upstream's job capz-windows-1-36-serial-slow runs, one after the other",
			// From Kubernetes 1.37 on, the tags of a name are in the order of the alphabet. The job's own expression
			// wants [Serial] before [Conformance]; this one takes both orders.
			Focus:     `(\[sig-windows\]|\[sig-scheduling\].SchedulerPreemption|\[sig-apps\].CronJob).*(\[Serial\]|\[Slow\])|(\[Serial\]|\[Slow\]).*(\[Conformance\]|\[NodeConformance\])|(\[Conformance\]|\[NodeConformance\]).*(\[Serial\]|\[Slow\])|\[sig-api-machinery\].Garbage.collector`,
			Skip:      `\[LinuxOnly\]|device.plugin.for.Windows|\[sig-autoscaling\].\[Feature:HPA\]|\[Alpha\]|\[FeatureGate:SchedulerAsyncPreemption\]|\[Beta\]`,
			Processes: 1,
			Attempts:  2,
			Source:    release136,
		},
		{
			Name:      "hpa",
			About:     "what upstream's job for horizontal pod autoscaling on Windows runs; it needs a metrics server",
			Focus:     `(\[sig-autoscaling\].\[Feature:HPA\]).*(\[Serial\]|\[Slow\])`,
			Skip:      `\[LinuxOnly\]|device.plugin.for.Windows|RebootHost`,
			Processes: 1,
			Attempts:  2,
			Source:    masterHPA,
		},
	}
}

// Lookup finds a suite by name.
func Lookup(name string) (Suite, error) {
	var names []string
	for _, s := range All() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Suite{}, fmt.Errorf("no suite %q; there are: %s", name, strings.Join(names, ", "))
}

// Exactly returns the expression that matches only the specs with these names. Ginkgo matches expressions with the
// suite's description, a space and the spec's name, so only the end can be anchored.
func Exactly(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = regexp.QuoteMeta(n) + "$"
	}
	return strings.Join(quoted, "|")
}
