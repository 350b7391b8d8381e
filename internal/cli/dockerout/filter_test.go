package dockerout

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/cli/exit"
)

// TestTime reads the times of flags.
func TestTime(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	for text, want := range map[string]string{
		"": "0001-01-01T00:00:00Z", "10m": "2026-01-02T01:54:05Z", "1h30m": "2026-01-02T00:34:05Z",
		"2025-12-31": "2025-12-30T23:00:00Z", "2025-12-31T10:00:00": "2025-12-31T09:00:00Z",
		"2025-12-31T10:00:00.5Z": "2025-12-31T10:00:00.5Z", "1136073600": "2006-01-01T00:00:00Z",
		"1136073600.25": "2006-01-01T00:00:00.25Z",
	} {
		got, err := Time("--since", text, now)
		if err != nil || got.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("%q: %s, %v; want %s", text, got.UTC().Format(time.RFC3339Nano), err, want)
		}
	}

	for _, text := range []string{"yesterday", "1e9", "NaN", "10", "99999999999999999999"} {
		if got, err := Time("--since", text, now); err == nil && text != "10" {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// TestParsePruned reads values of prune's --filter.
func TestParsePruned(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, wrong := range []string{"until", "until=", "label=", "label!=", "until=never", "size=1"} {
		if _, err := ParsePruned([]string{wrong}, now); err == nil {
			t.Errorf("--filter %s is taken", wrong)
		}
	}
	two := []string{"until=24h", "until=1h"}
	_, err := ParsePruned(two, now)
	if exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), "more than one until") {
		t.Errorf("two times are taken: %v", err)
	}
	if _, err := ParsePruned([]string{"until=24h", "until=24h"}, now); err != nil {
		t.Errorf("one time given twice: %v", err)
	}

	got, err := ParsePruned([]string{"until=24h", "label=team=web", "label=a", "label!=keep"}, now)
	want := Pruned{
		Until:     now.Add(-24 * time.Hour),
		Labels:    []string{"team=web", "a"},
		NotLabels: []string{"keep"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
