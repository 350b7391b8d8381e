// Package result owns the results of conformance runs: the record of each spec, the folder of a run, which is valid
// after every spec even if the machine crashes next, the history of runs, and the table of causes of failures.
//
// A folder of results has one folder for each suite, and in it one for each run, named after its start:
//
//	<results>/parallel/20261121T091500Z/
//	    run.json       what was run on what, and how it ended
//	    specs.jsonl    a line for each spec that has ended
//	    output/N.log   what spec N printed, if it did not pass; output/N.node.log what its nodes' kubelets logged meanwhile
//	    process-N.log  what each process printed beside
package result

import (
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// State is how a spec ended.
type State string

// The states of a spec.
const (
	Passed  State = "passed"
	Failed  State = "failed"
	Flaky   State = "flaky"   // passed, after it had failed
	Skipped State = "skipped" // the spec found that it does not apply to the cluster
	Cut     State = "cut"     // the run was stopped while it ran
	NotRun  State = "not run" // selected, and not begun when the run was stopped
)

// States returns all states in the order in which they are shown.
func States() []State { return []State{Failed, Flaky, Passed, Skipped, Cut, NotRun} }

// Spec is the record of one spec in a run.
type Spec struct {
	// Number counts the specs of a run from 1 in the order in which they ended.
	Number int    `json:"number"`
	Name   string `json:"name"`
	State  State  `json:"state"`
	// Start is when the spec began, Seconds how long it took.
	Start   time.Time `json:"start,omitzero"`
	Seconds float64   `json:"seconds"`
	// Process is the number of the parallel process that ran the spec, Attempts how often it was tried.
	Process  int `json:"process,omitempty"`
	Attempts int `json:"attempts,omitempty"`
	// Message is why the spec failed or skipped itself, Location the line of upstream's source.
	Message  string `json:"message,omitempty"`
	Location string `json:"location,omitempty"`
	// Nodes are the nodes that the spec's output names.
	Nodes []string `json:"nodes,omitempty"`
	// Output and NodeLog are files of the run's folder.
	Output  string `json:"output,omitempty"`
	NodeLog string `json:"nodeLog,omitempty"`
}

var areaName = lazyregexp.New(`^\[(sig-[a-z-]+)\]`)

// Area returns the special interest group of a spec, with which its name begins.
func (s Spec) Area() string {
	if m := areaName.FindStringSubmatch(s.Name); m != nil {
		return m[1]
	}
	return "other"
}

// ShortName returns the name without the area and without tags such as [Conformance].
func (s Spec) ShortName() string {
	name := areaName.ReplaceAllString(s.Name, "")
	return strings.Join(strings.Fields(tag.ReplaceAllString(name, " ")), " ")
}

var tag = lazyregexp.New(`\[[A-Za-z]+(:[^\]]*)?\]`)

// Node is a node of the cluster that a run was on.
type Node struct {
	Name    string `json:"name"`
	OS      string `json:"os"`
	Image   string `json:"image"`   // for example "Windows Server 2022 Datacenter"
	Kernel  string `json:"kernel"`  // for example "10.0.20348.2762"
	Kubelet string `json:"kubelet"` // for example "v1.36.3"
	Runtime string `json:"runtime"`
}

// End is how a run ended.
type End string

// The ends of a run.
const (
	Running  End = "running"
	Complete End = "complete"
	Partial  End = "partial"
)

// Run describes a run.
type Run struct {
	Version int    `json:"version"` // of this form; 1
	ID      string `json:"id"`
	Suite   string `json:"suite"`
	Focus   string `json:"focus"`
	Skip    string `json:"skip"`
	Source  string `json:"source,omitempty"`
	// Drivers are the files that define drivers of storage.
	Drivers []string `json:"drivers,omitempty"`
	// Seed orders the specs; Processes is the number of parallel processes.
	Seed      int64 `json:"seed"`
	Processes int   `json:"processes"`
	Attempts  int   `json:"attempts"`
	// Cluster is the API server's address, Server its version, Test the version of e2e.test, Mullion that of the
	// runner.
	Cluster string `json:"cluster"`
	Server  string `json:"server"`
	Test    string `json:"test"`
	Mullion string `json:"mullion"`
	Nodes   []Node `json:"nodes"`
	// Emulated says that the Windows nodes are Mullion's.
	Emulated bool `json:"emulated,omitempty"`
	// StandIns are the images that are not wholly upstream's, each with the parts that are not.
	StandIns map[string]string `json:"standIns,omitempty"`
	// Planned are the names of the selected specs.
	Planned []string  `json:"planned"`
	Start   time.Time `json:"start"`
	EndTime time.Time `json:"endTime,omitzero"`
	// Busy is how long specs have been running, in all parts of a run that was resumed.
	Busy time.Duration `json:"busy"`
	End  End           `json:"end"`
	// Reason says why a run is partial.
	Reason string `json:"reason,omitempty"`
}

// Results are a run with its specs.
type Results struct {
	Run   Run    `json:"run"`
	Specs []Spec `json:"specs"`
}

// All returns the last result of each spec that has ended, and the planned specs that did not run, by name.
func (r Results) All() []Spec {
	last := map[string]Spec{}
	for _, s := range r.Specs {
		last[s.Name] = s
	}

	for _, name := range r.Run.Planned {
		if _, ok := last[name]; !ok {
			last[name] = Spec{Name: name, State: NotRun}
		}
	}

	all := make([]Spec, 0, len(last))
	for _, s := range last {
		all = append(all, s)
	}

	slices.SortFunc(all, func(a, b Spec) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Done returns the names of the specs with a final result, which a resumed run leaves out.
func (r Results) Done() []string {
	var names []string
	for _, s := range r.All() {
		if s.State != Cut && s.State != NotRun {
			names = append(names, s.Name)
		}
	}
	return names
}

// Count returns the number of specs in each state.
func Count(specs []Spec) map[State]int {
	counts := map[State]int{}
	for _, s := range specs {
		counts[s.State]++
	}
	return counts
}
