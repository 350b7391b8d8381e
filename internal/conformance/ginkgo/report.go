package ginkgo

import (
	"strings"
	"time"
)

// Report is the part of Ginkgo's types.SpecReport that is kept, under its names
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

// AdditionalFailure is one of further failures, for example while tidying up.
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

// IsSpec says that the report is of a spec and not of what is done before or after all of them.
func (r Report) IsSpec() bool { return r.LeafNodeType == "It" }

// Selected says that the spec was to run: those that the expressions leave out are reported too, as skipped without a
// reason and without an attempt.
func (r Report) Selected() bool {
	return r.IsSpec() && r.State != Pending && (r.State != Skipped || r.Failure.Message != "")
}

// Name is the spec's whole name, by which the expressions select it.
func (r Report) Name() string {
	return strings.Join(append(append([]string{}, r.ContainerHierarchyTexts...), r.LeafNodeText), " ")
}

// Suite is the part of types.Report that the processes tell before the first spec.
type Suite struct {
	PreRunStats struct{ TotalSpecs, SpecsThatWillRun int }
}
