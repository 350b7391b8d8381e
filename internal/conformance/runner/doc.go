// Package runner runs Kubernetes' e2e tests on a cluster. It checks the cluster first and says what is missing, starts
// the processes of e2e.test, stores the result of each spec as it ends, and leaves the cluster as it was: it removes
// the tests' namespaces, and the taints that keep test pods off Linux nodes. A run that is stopped, by Ctrl-C, by the
// cluster's end or by a full disk, keeps its results, is marked as partial, and can be resumed.
//
// Nothing is patched: e2e.test is built from the pinned module and gets the arguments that upstream's Windows jobs give
// it.
package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mullion.dev/mullion/internal/conformance/result"
	"mullion.dev/mullion/internal/conformance/suite"
)

// Config says which specs are run on which cluster.
type Config struct {
	// Suite is the selection; the caller may have changed its expressions.
	Suite suite.Suite
	// Program is e2e.test; Kubectl a program that the tests call as kubectl.
	Program string
	Kubectl string
	// Kubeconfig leads to the cluster.
	Kubeconfig string
	// Results is the folder of all runs; Resume is the folder of a run to resume, or empty.
	Results string
	Resume  string
	// Prepull makes the nodes pull the commonest images before the first spec, as upstream does.
	Prepull bool
	// TaintLinux keeps pods that name no system off the Linux nodes. In upstream's clusters the taint of control-plane
	// nodes does that, because they are the only Linux nodes.
	TaintLinux bool
	// StandIns are written into the results.
	StandIns map[string]string
	// Emulated says that the Windows nodes are Mullion's.
	Emulated bool
	// Mullion is the runner's version.
	Mullion string
	// NodeLogs gives the log files of a node's kubelet and runtime, if they are at hand; it may be nil.
	NodeLogs func(node string) []string
	// Environ is the environment of the tests.
	Environ []string
	// Hurry is called when the run is told to stop, and returns a channel that is closed when it is told a second time.
	Hurry func() <-chan struct{}
	// Progress is called with each step of the run, one call at a time.
	Progress func(Progress)

	limits *limits // nil: the usual ones
}

// limits are the times and the disk space at which a run gives up.
type limits struct {
	ask  time.Duration // the time between two checks of the cluster
	gone time.Duration // how long the cluster may fail to answer
	disk uint64        // bytes that must be free in the folder of results
}

func (c Config) limit() limits {
	if c.limits == nil {
		return limits{
			ask:  10 * time.Second,
			gone: 2 * time.Minute,
			disk: 1 << 30,
		}
	}
	return *c.limits
}

// Progress is a step of a run.
type Progress struct {
	// Text says what is being done, when it is not about a spec.
	Text string
	// Spec has just ended, of Total selected ones, Done in all; Left is how long the rest will take at this rate, 0
	// while unknown.
	Spec        *result.Spec
	Done, Total int
	Failed      int
	Left        time.Duration
}

// e2eArgs returns the arguments of upstream's Windows jobs
// (https://github.com/kubernetes-sigs/windows-testing/blob/461a0fe7218b9076d630367b1dbacc85486bf378/capz/run-capz-e2e.sh,
// 2026-07-23), without those for the reports, which are made here.
func (c Config) e2eArgs(run result.Run, windowsNodes int, done []string) []string {
	args := []string{
		"--provider=skeleton",
		"--kubeconfig=" + c.Kubeconfig,
		"--kubectl-path=" + c.Kubectl,
		"--node-os-distro=windows",
		"--num-nodes=" + strconv.Itoa(windowsNodes),
		"--disable-log-dump",
		"--dump-logs-on-failure=true",
		"--prepull-images=" + strconv.FormatBool(c.Prepull),
		"--v=5",
		"--ginkgo.no-color",
		"--ginkgo.v",
		"--ginkgo.trace",
		"--ginkgo.silence-skips",
		"--ginkgo.timeout=24h",
		"--ginkgo.flake-attempts=" + strconv.Itoa(max(run.Attempts, 1)),
		"--ginkgo.seed=" + strconv.FormatInt(run.Seed, 10),
	}

	return append(args, selection(run, done)...)
}

// maxArg bounds one argument: Linux allows 128 KiB.
const maxArg = 100 << 10

// selection returns the flags that select specs: the run's expressions, the drivers of storage that specs are for, and
// expressions that skip the specs that are done. Ginkgo joins several expressions by "or".
func selection(run result.Run, done []string) []string {
	args := []string{"--ginkgo.focus=" + run.Focus}
	for _, driver := range run.Drivers {
		args = append(args, "--storage.testdriver="+driver)
	}

	if run.Skip != "" {
		args = append(args, "--ginkgo.skip="+run.Skip)
	}

	var some []string
	size := 0
	flush := func() {
		if len(some) > 0 {
			args = append(args, "--ginkgo.skip="+suite.Exactly(some))
		}
		some, size = nil, 0
	}

	for _, name := range done {
		if size += 2 * len(name); size > maxArg {
			flush()
			size = 2 * len(name)
		}
		some = append(some, name)
	}

	flush()
	return args
}

// Error is an error that a person can do something about.
type Error struct {
	Err    error
	Remedy string
}

// Error returns the cause's text.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// shorten makes a message fit a line.
func shorten(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return text
}

// Run runs the suite and returns the folder of the results, complete or partial. The error says why there are no
// results, or why they are partial.
func (c Config) Run(ctx context.Context) (folder string, err error) {
	cluster, err := c.inspect(ctx)
	if err != nil {
		return "", err
	}
	f, results, err := c.prepare(ctx, cluster)
	if err != nil {
		return "", err
	}

	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()

	if len(results.Run.Planned) == 0 {
		return f.Path, &Error{
			Err:    fmt.Errorf("no spec fits focus %q and skip %q", results.Run.Focus, results.Run.Skip),
			Remedy: "`mullion conformance list` shows the specs that expressions select",
		}
	}

	r := &running{
		config:  c,
		cluster: cluster,
		folder:  f,
		run:     results.Run,
		results: results,
	}
	err = r.all(ctx)

	return f.Path, err
}

// prepare makes the folder of a new run, or opens the folder of the run to resume.
func (c Config) prepare(ctx context.Context, cluster *cluster) (*result.Folder, result.Results, error) {
	if c.Resume != "" {
		f, results, err := result.Reopen(c.Resume)
		if err != nil {
			return nil, results, err
		}
		c.Progress(Progress{Text: fmt.Sprintf("go on with %s: %d of %d specs are done", filepath.Base(c.Resume),
			len(results.Done()), len(results.Run.Planned))})
		return f, results, nil
	}

	now := time.Now()
	run := result.Run{
		ID:        result.NewID(now),
		Suite:     c.Suite.Name,
		Focus:     c.Suite.Focus,
		Skip:      c.Suite.Skip,
		Source:    c.Suite.Source,
		Drivers:   c.Suite.Drivers,
		Seed:      now.Unix(),
		Processes: max(c.Suite.Processes, 1),
		Attempts:  c.Suite.Attempts,
		Cluster:   cluster.address,
		Server:    cluster.version,
		Mullion:   c.Mullion,
		Nodes:     cluster.nodes,
		StandIns:  c.StandIns,
		Emulated:  c.Emulated,
		Start:     now.UTC().Truncate(time.Second),
		End:       result.Running,
	}

	var err error
	if run.Test, err = c.version(ctx); err != nil {
		return nil, result.Results{}, err
	}
	c.Progress(Progress{Text: "select the specs"})
	if run.Planned, err = List(ctx, c.Program, c.Suite); err != nil {
		return nil, result.Results{}, err
	}
	f, err := result.Create(c.Results, run)
	return f, result.Results{Run: run}, err
}
