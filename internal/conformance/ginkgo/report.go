package ginkgo

import (
	"strings"
	"time"
)

// Report holds the fields of Ginkgo's types.SpecReport that are used, under Ginkgo's names
// (https://github.com/onsi/ginkgo/blob/v2.28.1/types/types.go).
type Report struct {
	ContainerHierarchyTexts    []string
	LeafNodeType               string
	LeafNodeText               string
	LeafNodeLocation           Location
	State                      string
	StartTime, EndTime         time.Time
	RunTime                    time.Duration
	ParallelProcess            int
	NumAttempts                int
	Failure                    Failure
	AdditionalFailures         []AdditionalFailure
	CapturedGinkgoWriterOutput string
	CapturedStdOutErr          string
}

// The states of a report.
const (
	Passed      = "passed"
	Failed      = "failed"
	Skipped     = "skipped"
	Pending     = "pending"
	Panicked    = "panicked"
	TimedOut    = "timedout"
	Interrupted = "interrupted"
	Aborted     = "aborted"
)

// Failure is why a spec failed, or why it skipped itself.
type Failure struct {
	Message        string
	Location       Location
	ForwardedPanic string
}

// AdditionalFailure is a further failure, for example while tidying up.
type AdditionalFailure struct {
	State   string
	Failure Failure
}

// Location is a line of source.
type Location struct {
	FileName       string
	LineNumber     int
	FullStackTrace string
}

// IsSpec reports whether the report is about a spec, and not about the work before or after all specs.
func (r Report) IsSpec() bool { return r.LeafNodeType == "It" }

// Selected reports whether the spec was selected. Ginkgo also reports specs that the expressions leave out, as skipped
// without a reason and without an attempt.
func (r Report) Selected() bool {
	return r.IsSpec() && r.State != Pending && (r.State != Skipped || r.Failure.Message != "")
}

// Name returns the spec's full name, with which the expressions are matched.
func (r Report) Name() string {
	return strings.Join(append(append([]string{}, r.ContainerHierarchyTexts...), r.LeafNodeText), " ")
}

// Suite holds the fields of types.Report that the processes send before the first spec.
type Suite struct {
	PreRunStats struct{ TotalSpecs, SpecsThatWillRun int }
}
