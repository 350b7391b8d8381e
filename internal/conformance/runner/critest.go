package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"mullion.dev/mullion/internal/conformance/ginkgo"
	"mullion.dev/mullion/internal/conformance/result"
)

// CritestSuite is the name of the suite under which runs of critest are stored.
const CritestSuite = "critest"

// Critest runs cri-tools' tests of container runtimes on one Windows node. Only critest built for Windows uses the
// Windows images and commands, so critest.exe runs on the node's own host. containerd's job does the same on Windows
// Server, and leaves out only a test that is flaky there
// (https://github.com/containerd/containerd/blob/v2.4.2/.github/workflows/ci.yml).
type Critest struct {
	// Config gives Kubeconfig, Results, Mullion, StandIns, Emulated, NodeLogs and Progress.
	Config
	// Node is the node's name, or empty for the first Windows node.
	Node string
	// Focus and Skip select specs.
	Focus, Skip string
	// Version is the version of cri-tools.
	Version string
	// Exec runs critest.exe on the host of a node with arguments, and writes its output to log. It returns critest's
	// report in Ginkgo's form, nil if there is none, and an error if critest could not be run.
	Exec func(ctx context.Context, node string, args []string, log io.Writer) (report []byte, err error)
}

// Run runs the tests and returns the folder of the results, complete or partial.
func (c Critest) Run(ctx context.Context) (folder string, err error) {
	found, err := c.inspect(ctx)
	if err != nil {
		return "", err
	}

	nodes := windowsNodes(found.nodes, c.Node)
	if len(nodes) == 0 {
		return "", &Error{
			Err:    fmt.Errorf("%q is no Windows node of the cluster", c.Node),
			Remedy: "`mullion kubectl get nodes` lists the nodes",
		}
	}

	now := time.Now()
	run := result.Run{
		ID:        result.NewID(now),
		Suite:     CritestSuite,
		Focus:     c.Focus,
		Skip:      c.Skip,
		Source:    "sigs.k8s.io/cri-tools " + c.Version,
		Processes: 1,
		Attempts:  1,
		Cluster:   found.address,
		Server:    found.version,
		Test:      c.Version,
		Mullion:   c.Mullion,
		Nodes:     nodes[:1],
		StandIns:  c.StandIns,
		Emulated:  c.Emulated,
		Start:     now.UTC().Truncate(time.Second),
		End:       result.Running,
	}

	f, err := result.Create(c.Results, run)
	if err != nil {
		return "", err
	}
	why := c.run(ctx, f, &run)
	run.EndTime = time.Now().UTC().Truncate(time.Second)
	run.Busy = time.Since(now)
	run.End = result.Complete
	if why != nil {
		run.End, run.Reason = result.Partial, why.Error()
	}

	if err := errors.Join(f.Save(run), f.Close()); err != nil {
		return f.Path, errors.Join(why, err)
	}
	return f.Path, why
}

// windowsNodes returns the Windows nodes, or the one with that name.
func windowsNodes(nodes []result.Node, name string) []result.Node {
	var some []result.Node
	for _, n := range nodes {
		if n.OS == "windows" && (name == "" || n.Name == name) {
			some = append(some, n)
		}
	}
	return some
}

func (c Critest) run(ctx context.Context, f *result.Folder, run *result.Run) error {
	log, err := os.Create(filepath.Join(f.Path, "process-1.log"))
	if err != nil {
		return fmt.Errorf("open log of critest: %w", err)
	}
	defer log.Close()
	args := []string{"-ginkgo.no-color", "-ginkgo.timeout=1h"}
	if c.Focus != "" {
		args = append(args, "-ginkgo.focus="+c.Focus)
	}

	if c.Skip != "" {
		args = append(args, "-ginkgo.skip="+c.Skip)
	}
	c.Progress(Progress{Text: fmt.Sprintf("critest %s on %s, some minutes; what it prints is in %s", c.Version,
		run.Nodes[0].Name, log.Name())})
	report, err := c.Exec(ctx, run.Nodes[0].Name, args, log)
	if err != nil {
		return fmt.Errorf("run critest on node %q: %w", run.Nodes[0].Name, err)
	}

	if report == nil && ctx.Err() != nil {
		return errStopped
	}
	if report == nil {
		return fmt.Errorf("critest has written no report; %s says more", log.Name())
	}
	return c.keep(ctx, f, run, report)
}

// keep stores the specs of critest's report.
func (c Critest) keep(ctx context.Context, f *result.Folder, run *result.Run, report []byte) error {
	var suites []struct {
		SpecReports []ginkgo.Report
		SuiteConfig struct{ RandomSeed int64 }
	}
	if err := json.Unmarshal(report, &suites); err != nil {
		return fmt.Errorf("read critest's report: %w", err)
	}

	n, cut := 0, false
	for _, s := range suites {
		run.Seed = s.SuiteConfig.RandomSeed
		for _, r := range s.SpecReports {
			if !r.IsSpec() && failed(r.State) {
				return fmt.Errorf("what critest does before its tests failed: %s", shorten(r.Failure.Message))
			}
			if !r.Selected() {
				continue
			}

			n++
			run.Planned = append(run.Planned, r.Name())
			spec := toSpec(r)
			spec.Number = n
			spec.Process = 1
			spec.Nodes = []string{run.Nodes[0].Name}
			output, nodeLog := r.CapturedGinkgoWriterOutput+r.CapturedStdOutErr, ""
			if spec.State == result.Passed || spec.State == result.Skipped {
				output = ""
			} else if c.NodeLogs != nil {
				nodeLog = nodeLogs(spec, output, c.NodeLogs)
			}

			if err := f.Add(spec, output, nodeLog); err != nil {
				return err
			}
			cut = cut || spec.State == result.Cut
			c.Progress(Progress{
				Spec:  &spec,
				Done:  n,
				Total: n,
			})
		}
	}
	switch {
	case ctx.Err() != nil:
		return errStopped
	case cut:
		return errors.New("critest was interrupted")
	case n == 0:
		return &Error{
			Err:    fmt.Errorf("no test fits focus %q and skip %q", c.Focus, c.Skip),
			Remedy: "leave them out to run all",
		}
	}

	return nil
}
