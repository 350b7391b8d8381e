package rules

import (
	"math/big"
	"slices"
	"testing"

	"mullion.dev/mullion/internal/windows/winver"
)

func TestQuantity(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1", "100m": "1/10", "1.5": "3/2", "128Mi": "134217728", "1Gi": "1073741824", "1e3": "1000",
		"1E": "1000000000000000000", "2k": "2000", "500u": "1/2000", "0": "0", "-1": "-1",
		"": "", "Mi": "", "1mi": "", "x": "", "1/2": "", "0x10": "", "1_000": "", "1e99999999999": "", "1e21": "",
		"1mm": "",
	} {
		got := ""
		if v, ok := quantity(text); ok {
			got = v.RatString()
		}
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}

	if a, _ := quantity("0.5Gi"); a == nil || a.Cmp(big.NewRat(512<<20, 1)) != 0 {
		t.Errorf("0.5Gi is %v", a)
	}
}

// TestBuildsAreTheCatalogues compares the builds that rules name with winver, from which they are taken.
func TestBuildsAreTheCatalogues(t *testing.T) {
	for feature, build := range map[winver.Feature]uint32{
		winver.DualStack:       dualStackBuild,
		winver.SessionAffinity: sessionAffinityBuild,
	} {
		i := slices.IndexFunc(winver.Features(), func(r winver.FeatureRow) bool { return r.Feature == feature })
		if i < 0 || winver.Features()[i].Since != build {
			t.Errorf("%s: %d is not the catalogue's build", feature, build)
		}
	}
}
