package runner

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"mullion.dev/mullion/internal/conformance/ginkgo"
	"mullion.dev/mullion/internal/conformance/result"
)

// ran stores the result of a spec that has ended, and reports progress. The server calls it for one report at a time.
func (r *running) ran(report ginkgo.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !report.IsSpec() {
		if failed(report.State) && strings.Contains(report.LeafNodeType, "BeforeSuite") {
			r.suite = report.Failure.Message
		}
		return
	}

	if !report.Selected() || !slices.Contains(r.run.Planned, report.Name()) || r.fault != nil {
		return
	}

	spec := toSpec(report)
	spec.Number = len(r.results.Specs) + 1
	if err := r.keep(spec, report.CapturedGinkgoWriterOutput+report.CapturedStdOutErr); err != nil {
		r.fault = err
		r.stop(err)
		return
	}

	if spec.State != result.Cut {
		r.tell(spec)
	}
}

// keep writes a result, and the output of the spec and of its nodes' programs if it did not pass.
func (r *running) keep(spec result.Spec, output string) error {
	spec.Nodes = nodesIn(output, r.cluster.nodes)
	var nodeLog string
	if spec.State == result.Passed || spec.State == result.Skipped {
		output = ""
	} else if r.config.NodeLogs != nil {
		nodeLog = nodeLogs(spec, output, r.config.NodeLogs)
	}
	err := r.folder.Add(spec, output, nodeLog)
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the disk is full: %w", err)
	}
	r.results.Specs = append(r.results.Specs, spec)
	return err
}

// tell reports that a spec has ended, and how far the run is.
func (r *running) tell(spec result.Spec) {
	r.done++
	if spec.State == result.Failed {
		r.failed++
	}

	p := Progress{
		Spec:   &spec,
		Done:   len(r.run.Planned) - r.todo + r.done,
		Total:  len(r.run.Planned),
		Failed: r.failed,
	}
	if left := r.todo - r.done; r.done >= 3 && left > 0 {
		p.Left = time.Since(r.begun) / time.Duration(r.done) * time.Duration(left)
	}

	r.config.Progress(p)
}

// output handles what process 1 prints while it prepares the cluster, which is in its log too.
func (r *running) output(text []byte) {
	for line := range bytes.Lines(text) {
		if at := bytes.Index(line, []byte("Waiting up to")); at >= 0 {
			r.config.Progress(Progress{Text: shorten(string(line[at:]))})
		}
	}
}

func failed(state string) bool {
	return slices.Contains([]string{
		ginkgo.Failed, ginkgo.Panicked, ginkgo.TimedOut, ginkgo.Interrupted,
		ginkgo.Aborted,
	}, state)
}

// toSpec makes a result from a report.
func toSpec(report ginkgo.Report) result.Spec {
	s := result.Spec{
		Name:     report.Name(),
		Start:    report.StartTime.UTC(),
		Seconds:  report.RunTime.Seconds(),
		Process:  report.ParallelProcess,
		Attempts: report.NumAttempts,
	}

	switch report.State {
	case ginkgo.Passed:
		s.State = result.Passed
		if report.NumAttempts > 1 {
			s.State = result.Flaky
		}

	case ginkgo.Skipped:
		s.State = result.Skipped
	case ginkgo.Interrupted, ginkgo.Aborted:
		s.State = result.Cut
	default:
		s.State = result.Failed
	}

	f := report.Failure
	if f.Message == "" && len(report.AdditionalFailures) > 0 {
		f = report.AdditionalFailures[0].Failure
	}
	s.Message = strings.TrimSpace(f.Message)
	if f.ForwardedPanic != "" {
		s.Message += "\npanic: " + f.ForwardedPanic
	}

	if f.Location.FileName != "" {
		s.Location = fmt.Sprintf("%s:%d", sourceFile(f.Location.FileName), f.Location.LineNumber)
	}
	return s
}

// sourceFile returns the path of an upstream source file without the folder in which it was built.
func sourceFile(path string) string {
	if i := strings.Index(path, "k8s.io/"); i >= 0 {
		return path[i:]
	}
	return path
}

// nodesIn returns the nodes that a text names.
func nodesIn(text string, nodes []result.Node) []string {
	var names []string
	for _, n := range nodes {
		word := regexp.MustCompile(`(^|[^A-Za-z0-9.-])` + regexp.QuoteMeta(n.Name) + `($|[^A-Za-z0-9.-]|\.\W)`)
		if word.MatchString(text) {
			names = append(names, n.Name)
		}
	}
	return names
}
