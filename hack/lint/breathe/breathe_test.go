package breathe_test

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"mullion.dev/mullion/hack/lint/breathe"
)

// TestAnalyzer compares what is found in testdata/src/a with the comments there.
func TestAnalyzer(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), breathe.Analyzer(), "a")
}
