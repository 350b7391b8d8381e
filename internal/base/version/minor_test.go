package version_test

import (
	"testing"

	"mullion.dev/mullion/internal/base/version"
)

func TestMinorOf(t *testing.T) {
	for text, want := range map[string]version.Minor{
		"v1.20.15": 20, "1.9.1": 9, "v1.37.0-alpha.1.7+0a1b2c3d4e5f67": 37, "2.0": 0, "x": 0,
		"": version.MinorOf(version.Kubernetes),
	} {
		if got := version.MinorOf(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if !version.MinorOf("").HasAll() {
		t.Error("what Mullion comes with lacks what it takes for granted")
	}
}
