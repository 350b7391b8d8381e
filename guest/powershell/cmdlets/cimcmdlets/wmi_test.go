package cimcmdlets

import (
	"testing"
	"time"

	"mullion.dev/mullion/guest/powershell/system"
)

func TestCIMTime(t *testing.T) {
	for in, want := range map[string]string{
		"20240506070809.123456+120": "2024-05-06T05:08:09.123456Z",
		"20240506070809.123456-060": "2024-05-06T08:08:09.123456Z",
		"20240506070809.522000+00":  "2024-05-06T07:08:09.522Z", // as Wine 8 writes it
		"********070809.522000+000": "",
		"20240506070809.522000*000": "",
		"20240506":                  "",
		"":                          "",
	} {
		got := ""
		if at, ok := system.ParseCIMTime(in); ok {
			got = at.UTC().Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("parseCIMTime(%q) = %q, not %q", in, got, want)
		}
	}
	at := time.Date(2024, 5, 6, 7, 8, 9, 123456000, time.FixedZone("", -5400))
	if got, want := cimTime(at), "20240506070809.123456-090"; got != want {
		t.Errorf("cimTime is %q, not %q", got, want)
	}
}
