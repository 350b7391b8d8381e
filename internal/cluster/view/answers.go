package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"mullion.dev/mullion/internal/cluster/health"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/runtime/admission"
	"mullion.dev/mullion/internal/spec"
)

// Cluster is what the cluster is, without passwords.
type Cluster struct {
	Spec spec.Cluster `json:"spec"`
	// Server and Authority are the API server's URL on this machine and its authority's certificate (PEM), by which a
	// kubeconfig of an earlier cluster of that name is known; "" on a machine that joined another's.
	Server    string `json:"server,omitempty"`
	Authority []byte `json:"authority,omitempty"`
}

// Status is how the cluster is.
type Status struct {
	At           time.Time          `json:"at"`
	Health       health.Picture     `json:"health"`
	Cluster      spec.Cluster       `json:"cluster"`
	CgroupParent string             `json:"cgroupParent"`
	Weights      Weights            `json:"weights"`
	Load         Loads              `json:"load"`
	Supervisor   *supervisor.Status `json:"supervisor"`
	// SupervisorError is why the supervisor did not answer, APIError why the API server did not.
	SupervisorError string `json:"supervisorError,omitempty"`
	APIError        string `json:"apiError,omitempty"`
}

// Weights say who gives way to whom when the machine has not enough processor time for all.
type Weights struct {
	// Nice says that all of the cluster gives way to the machine's other work.
	Nice bool `json:"nice"`
	// Classes are the shares: first those of the cluster beside other work, of which one busy thread has 100, then
	// those in it, largest first.
	Classes []Class `json:"classes"`
}

// Class is what runs by one share.
type Class struct {
	Cgroup string `json:"cgroup"`
	Share  int64  `json:"share"`
	// Holds says what is in the cgroup.
	Holds string `json:"holds"`
}

// Text returns the shares as a table.
func (w Weights) Text() string {
	var b strings.Builder
	b.WriteString("\nWhen the processors are busy, what has the larger share goes first")
	if w.Nice {
		b.WriteString(" (--nice: all of the cluster after the machine's other work)")
	}
	b.WriteString(":\n")
	t := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "SHARE\tCGROUP\tHOLDS")
	for _, c := range w.Classes {
		fmt.Fprintf(t, "%d\t%s\t%s\n", c.Share, c.Cgroup, c.Holds)
	}
	_ = t.Flush() // to memory
	return b.String()
}

// Loads are how busy Windows nodes are with starting programs, by their names.
type Loads map[string]admission.Load

// Text returns the figures as a table; "" without any.
func (l Loads) Text() string {
	if len(l) == 0 {
		return ""
	}

	var b strings.Builder
	b.WriteString("\nWhat starts on Windows nodes, and what waits for its turn:\n")
	t := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "NODE\tAT ONCE\tWAIT\tEXECS\tSTARTS\tWAITED\tLONGEST\tNOT STARTED\tLATE\tORPHANS\tEXEC TAKES")
	for _, node := range slices.Sorted(maps.Keys(l)) {
		n, waits := l[node], 0
		for _, w := range n.Waiting {
			waits += w
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%d\t%d\t%d\t%s\n", node, n.Places, waits, n.Execs, n.Starts, n.Waited,
			n.Longest.Round(time.Millisecond), n.NotStarted, n.Late, n.Orphans, n.Typical.Round(time.Millisecond))
	}

	_ = t.Flush() // to memory
	return b.String()
}
