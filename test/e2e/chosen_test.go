//go:build cluster

package e2e

import (
	"slices"
	"testing"
)

// TestChosen is about what E2E_RUN chooses.
func TestChosen(t *testing.T) {
	scenarios, scripts := []string{"scripts", "faults", "grow"}, []string{"dns", "storage", "grow"}
	for _, tt := range []struct {
		only            string
		scenarios, runs []string
		refused         bool
	}{
		{"", scenarios, scripts, false},
		{"faults", []string{"faults"}, nil, false},
		{"storage", []string{"scripts"}, []string{"storage"}, false},
		{"storage,grow", []string{"grow", "scripts"}, []string{"storage", "grow"}, false},
		{"storage,scripts", []string{"scripts"}, scripts, false},
		{"fault", nil, nil, true},
		{"faults,", nil, nil, true},
	} {
		gotScenarios, gotScripts, err := chosen(tt.only, scenarios, scripts)
		same := slices.Equal(gotScenarios, tt.scenarios) && slices.Equal(gotScripts, tt.runs)
		if (err != nil) != tt.refused || !same {
			t.Errorf("%q chooses %q and %q, %v", tt.only, gotScenarios, gotScripts, err)
		}
	}
}

// TestSupplies: each is made once, in the order in which scenarios ask for it, and none that nobody asks for.
func TestSupplies(t *testing.T) {
	none := scenario{}
	both := scenario{supplies: []supply{sample, images}}
	one := scenario{supplies: []supply{images}}
	for _, tt := range []struct {
		of   []scenario
		want []supply
	}{
		{nil, nil},
		{[]scenario{none, none}, nil},
		{[]scenario{one, none, one}, []supply{images}},
		{[]scenario{one, both}, []supply{images, sample}},
	} {
		if got := suppliesOf(tt.of); !slices.Equal(got, tt.want) {
			t.Errorf("%v need %q, want %q", tt.of, got, tt.want)
		}
	}
}

// TestScriptsThatTookLongest come last, since Go begins with the last.
func TestScriptsThatTookLongest(t *testing.T) {
	took := tookLast(t)
	if len(took) == 0 {
		t.Skip("no result is kept")
	}
	names := scriptNames(t)
	if last := names[len(names)-1]; took[last] < 30 || took[names[0]] > 10 {
		t.Errorf("from %s (%.0f s) to %s (%.0f s)", names[0], took[names[0]], last, took[last])
	}
}
