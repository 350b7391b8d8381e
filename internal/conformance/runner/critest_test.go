package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/conformance/result"
)

const critestReport = `[{"SuiteConfig":{"RandomSeed":7},"SpecReports":[
	{"LeafNodeType":"BeforeSuite","State":"passed"},
	{"ContainerHierarchyTexts":["[k8s.io] Container"],"LeafNodeType":"It","LeafNodeText":"starts","State":"passed","NumAttempts":1},
	{"ContainerHierarchyTexts":["[k8s.io] Streaming"],"LeafNodeType":"It","LeafNodeText":"attaches","State":"failed","NumAttempts":1,"Failure":{"Message":"no"},"CapturedGinkgoWriterOutput":"text"},
	{"ContainerHierarchyTexts":["[k8s.io] Pod"],"LeafNodeType":"It","LeafNodeText":"is left out","State":"skipped"}]}]`

func testCritest(t *testing.T, report string, err error) Critest {
	t.Helper()
	c, _ := testConfig(t)
	return Critest{
		Config:  c,
		Version: "v1",
		Exec: func(_ context.Context, node string, args []string, log io.Writer) ([]byte, error) {
			fmt.Fprintln(log, node, args)
			if report == "" {
				return nil, err
			}
			return []byte(report), err
		},
	}
}

func TestCritest(t *testing.T) {
	c := testCritest(t, critestReport, nil)
	folder, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := result.Load(folder)
	if err != nil {
		t.Fatal(err)
	}

	counts := result.Count(r.All())
	if counts[result.Passed] != 1 || counts[result.Failed] != 1 || len(r.All()) != 2 || r.Run.End != result.Complete ||
		r.Run.Suite != CritestSuite || r.Run.Seed != 7 {
		t.Errorf("%v, %+v", counts, r.Run)
	}

	for _, s := range r.Specs {
		if s.State == result.Failed && (s.Message != "no" || s.Output == "" || s.Nodes[0] != "win-1") {
			t.Errorf("%+v", s)
		}
	}
}

// TestCritestFaults checks that an incomplete run says why, and is stored as partial.
func TestCritestFaults(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, tt := range []struct {
		name, report string
		err          error
		ctx          context.Context //nolint:containedctx // of the case
		want         string
	}{
		{"does not start", "", errors.New("no such program"), t.Context(), "no such program"},
		{"no report", "", nil, t.Context(), "written no report"},
		{"half a report", critestReport[:40], nil, t.Context(), "read critest's report"},
		{"nothing selected", `[{"SpecReports":[]}]`, nil, t.Context(), "no test fits"},
		{"no runtime", `[{"SpecReports":[{"LeafNodeType":"BeforeSuite","State":"panicked","Failure":{"Message":"no runtime there"}}]}]`, nil, t.Context(), "no runtime there"},
		{"interrupted", strings.Replace(critestReport, "failed", "interrupted", 1), nil, t.Context(), "interrupted"},
		{"stopped", "", nil, stopped, "stopped by the user"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := testCritest(t, tt.report, tt.err)
			c.limits = nil
			folder, err := c.Run(tt.ctx)
			if tt.name == "stopped" && folder == "" { // stopped before the cluster was checked
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}

			if r, err := result.Load(folder); err != nil || r.Run.End != result.Partial ||
				!strings.Contains(r.Run.Reason, tt.want) {
				t.Errorf("%+v, %v", r.Run, err)
			}
		})
	}

	c := testCritest(t, critestReport, nil)
	c.Node = "linux-1"
	if folder, err := c.Run(t.Context()); err == nil || folder != "" ||
		!strings.Contains(err.Error(), "no Windows node") {
		t.Errorf("a node that is none: %q, %v", folder, err)
	}
}
