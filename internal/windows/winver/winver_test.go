package winver

import (
	"strings"
	"testing"
)

func TestLookup(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"name", "ltsc2022", "10.0.20348.2762"},
		{"alias", "1809", "10.0.17763.6414"},
		{"upper case", "LTSC2025", "10.0.26100.6899"},
		{"h2 upper", "20H2", "10.0.19042.1706"},
		{"build number", "25398", "10.0.25398.1189"},
		{"version", "10.0.18363", "10.0.18363.1556"},
		{"version with other revision", "10.0.20348.1", "10.0.20348.2762"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := Lookup(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := b.Version.String(); got != tt.want {
				t.Errorf("Lookup(%q) = %s, want %s", tt.in, got, tt.want)
			}
		})
	}

	for _, in := range []string{"", "2012", "ltsc2099", "10.1.20348", "10.0", "20348.1"} {
		_, err := Lookup(in)
		if err == nil {
			t.Errorf("Lookup(%q) found something", in)
			continue
		}

		for _, name := range Names() {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("Lookup(%q): message %q does not name %s", in, err, name)
			}
		}
	}
}

func TestCatalogue(t *testing.T) {
	seen := map[string]string{}
	var last uint32
	for _, b := range All() {
		if b.Version.Build <= last {
			t.Errorf("%s: builds are not in ascending order", b.Name)
		}

		last = b.Version.Build
		for _, n := range append([]string{b.Name}, b.Aliases...) {
			if other, ok := seen[n]; ok {
				t.Errorf("%q names both %s and %s", n, other, b.Name)
			}
			if n != strings.ToLower(n) {
				t.Errorf("%q is not lower case, so it is never found", n)
			}
			seen[n] = b.Name
		}

		if b.Version.Revision == 0 || b.ProductName == "" || b.ReleaseID == "" || b.BuildLab == "" ||
			!strings.HasPrefix(b.Source, "https://") {
			t.Errorf("%s: incomplete row %+v", b.Name, b)
		}
		if (b.DisplayVersion != "") != (b.Version.Build >= 19042) {
			t.Errorf("%s: DisplayVersion %q", b.Name, b.DisplayVersion)
		}
	}

	if _, err := Lookup(Default()); err != nil {
		t.Error(err)
	}
	for _, row := range Features() {
		if row.Note == "" || !strings.HasPrefix(row.Ref, "https://") {
			t.Errorf("feature %s: incomplete row", row.Feature)
		}
	}
}

// TestHNSFeatures compares the rows with the version ranges that Windows programs themselves apply.
func TestHNSFeatures(t *testing.T) {
	atLeast := func(v HNSVersion, major, minor int) bool {
		return v.Major > major || (v.Major == major && v.Minor >= minor)
	}

	for _, b := range All() {
		v := b.HNS
		for f, want := range map[Feature]bool{
			HNSv2:           atLeast(v, 9, 2),
			Overlay:         atLeast(v, 9, 2),
			DSR:             (v.Major == 9 && v.Minor >= 3) || atLeast(v, 10, 2),
			DualStack:       atLeast(v, 11, 10),
			SessionAffinity: atLeast(v, 12, 0),
			SetPolicy:       atLeast(v, 13, 0),
			TierACL:         atLeast(v, 14, 0),
			ModifyLB:        atLeast(v, 15, 5),
		} {
			if got := b.Supports(f); got != want {
				t.Errorf("%s (HNS %d.%d): %s is %v, want %v", b.Name, v.Major, v.Minor, f, got, want)
			}
		}
	}

	if (Build{}).Supports(DSR) || All()[0].Supports("no-such-feature") {
		t.Error("something is supported that is not")
	}
}

func TestAccepts(t *testing.T) {
	for _, tt := range []struct {
		host, image string
		want        bool
	}{
		{"ltsc2019", "10.0.17763.1", true},
		{"ltsc2019", "10.0.18362.1", false},
		{"ltsc2019", "10.0.17134.1", false},
		{"20h2", "10.0.19041.1", false},
		{"ltsc2022", "10.0.20348.9999", true},
		{"ltsc2022", "10.0.17763.1", false},
		{"ltsc2022", "10.0.25398.1", false},
		{"23h2", "10.0.20348.1", true},
		{"23h2", "10.0.19042.1", false},
		{"ltsc2025", "10.0.20348.1", true},
		{"ltsc2025", "10.0.25398.1", true},
		{"ltsc2025", "10.0.26200.1", false},
		{"ltsc2025", "6.3.20348.1", false},
	} {
		t.Run(tt.host+" "+tt.image, func(t *testing.T) {
			host, err := Lookup(tt.host)
			if err != nil {
				t.Fatal(err)
			}
			image, err := ParseVersion(tt.image)
			if err != nil {
				t.Fatal(err)
			}

			if got := host.Accepts(image); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}

	if !All()[0].Accepts(Version{}) {
		t.Error("an image without os.version is refused")
	}
}
