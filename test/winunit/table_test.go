package winunit

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	list, err := units()
	if err != nil {
		t.Fatal(err)
	}
	rung := 0
	for _, u := range list {
		if u.Rung {
			rung++
		}
	}
	if rung == 0 || rung == len(list) {
		t.Errorf("%d of %d packages are in the rung", rung, len(list))
	}
}

func TestJudge(t *testing.T) {
	u := unit{Known: []known{
		{Test: "TestOld"}, {Test: "TestBad"}, {Test: "TestTree/branch"}, {
			Test: "TestGone",
			Skip: true,
		}, {Test: "TestSometimes", Flaky: true},
	}}
	unknown, stale := u.judge(map[string]string{
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
	if got := u.skip(); got != "^(TestGone)$" {
		t.Errorf("left out: %q", got)
	}
	if got := (unit{}).skip(); got != "" {
		t.Errorf("left out of nothing: %q", got)
	}
}
