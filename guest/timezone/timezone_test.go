package timezone

import (
	"encoding/hex"
	"testing"
	"time"
)

// Zones as Windows' registry has them.
const (
	tokyo    = "e4fdffff00000000c4ffffff" + "00000000000000000000000000000000" + "00000000000000000000000000000000"
	berlin   = "c4ffffff00000000c4ffffff" + "00000a00000005000300000000000000" + "00000300000005000200000000000000"
	auckland = "30fdffff00000000c4ffffff" + "00000400000001000300000000000000" + "00000900000005000200000000000000"
)

func parse(t *testing.T, text string) Rule {
	t.Helper()
	data, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestActive compares with what Go's own zones say of each day of some years, an hour before and after each change too.
func TestActive(t *testing.T) {
	for name, zone := range map[string]string{"Asia/Tokyo": tokyo, "Europe/Berlin": berlin, "Pacific/Auckland": auckland} {
		location, err := time.LoadLocation(name)
		if err != nil {
			t.Skipf("no zones on this machine: %v", err)
		}

		rule := parse(t, zone)
		for at := time.Date(2023, 1, 1, 0, 30, 0, 0, time.UTC); at.Year() < 2028; at = at.Add(time.Hour) {
			_, offset := at.In(location).Zone()
			if got, want := rule.Active(at), int32(-offset/60); got != want {
				t.Fatalf("%s at %s: got %d, want %d", name, at, got, want)
			}
		}
	}

	if got := parse(t, berlin).WithoutDaylight().Active(time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)); got != -60 {
		t.Errorf("without daylight time: got %d, want -60", got)
	}
}

func TestFields(t *testing.T) {
	got, want := hex.EncodeToString(parse(t, berlin).Standard.Fields()), "00000a00050003000000000000000000"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "00", berlin[:86], berlin + "00", "c4ffffff00000000c4ffffff" + "0000ff00000005000300000000000000" + berlin[56:]} {
		data, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := Parse(data); err == nil {
			t.Errorf("%q: %+v", text, r)
		}
	}
}
