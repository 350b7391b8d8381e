package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompare(t *testing.T) {
	table := []Known{
		{Test: "TestOld"}, {Test: "TestBad"}, {Test: "TestTree/branch"}, {
			Test: "TestGone",
			Skip: true,
		}, {Test: "TestSometimes", Flaky: true},
	}

	unknown, stale := Compare(table, map[string]string{
		"TestOld": "pass", "TestBad": "fail", "TestBad/part": "fail", "TestTree": "fail", "TestTree/branch": "fail",
		"TestTree/other": "fail",
		"TestNew":        "fail", "TestSometimes": "pass", "TestFine": "pass", "TestLater": "skip",
	})
	if diff := cmp.Diff([]string{"TestNew", "TestTree/other"}, unknown); diff != "" {
		t.Errorf("unknown failures (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff([]string{"TestOld"}, stale); diff != "" {
		t.Errorf("stale rows (-want +got):\n%s", diff)
	}
	if got := Skip(table); got != "^(TestGone)$" {
		t.Errorf("left out: %q", got)
	}
	if got := Skip(nil); got != "" {
		t.Errorf("left out of nothing: %q", got)
	}
}
