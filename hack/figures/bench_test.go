package main

import (
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/hack/kept"
)

// TestMeasured shows each figure as the newest run has it, with the run that it is of.
func TestMeasured(t *testing.T) {
	at := time.Date(2026, 11, 30, 5, 0, 0, 0, time.UTC)
	newer := kept.Result{Suite: bench, Commit: "22222222", Began: at, Args: []string{"-only", "exec"}, Figures: []kept.Figure{
		{What: "an exec", Asked: "≤ 0.5 s", Unit: "s", Values: []float64{0.9, 0.3, 0.5}}, {What: "nothing", Unit: "s"},
	}}
	older := kept.Result{Suite: bench, Commit: "11111111", Began: at.Add(-time.Hour), Figures: []kept.Figure{
		{What: "an exec", Unit: "s", Values: []float64{7}}, {What: "up", Unit: "s", Values: []float64{6}},
	}}

	got := measured([]kept.Result{newer, older})
	for _, want := range []string{
		"| an exec | ≤ 0.5 s | 0.50 s | 0.30 – 0.90 | 3 | 1 |\n", "| up |  | 6.00 s | 6.00 – 6.00 | 1 | 2 |\n",
		"\n1. [2026-11-30 05:00](../results/bench/20261130T050000Z-22222222.json): `hack/bench.sh -only exec`, commit 22222222",
		"\n2. [2026-11-30 04:00](../results/bench/",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}

	if strings.Contains(got, "7.00") || strings.Contains(got, "nothing") {
		t.Errorf("an older figure, or one without values, is in\n%s", got)
	}
	if got := measured([]kept.Result{newer, {Figures: newer.Figures}}); strings.Contains(got, "\n2.") {
		t.Errorf("a run that adds nothing is in\n%s", got)
	}
	if got := measured(nil); strings.Contains(got, "|") {
		t.Errorf("without a run: %s", got)
	}
}
