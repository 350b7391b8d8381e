package machine

import (
	"strings"
	"testing"
)

func TestSysteminfo(t *testing.T) {
	got := run(t, &fake{}, "", "systeminfo")
	for _, line := range []string{
		"\nHost Name:                 WIN-1\n", "\nOS Version:                10.0.20348 N/A Build 20348\n",
		"\nTotal Physical Memory:     8,192 MB\n",
		"\nProcessor(s):              2 Processor(s) Installed.\n                           [01]: one\n",
		"                                 [01]: 192.0.2.1\n",
		"\nSystem Boot Time:          1/2/2026, 3:04:05 AM\n",
	} {
		if got.Code != 0 || !strings.Contains(got.Out, line) {
			t.Errorf("%q is not in %+v", line, got)
		}
	}

	if got := run(t, &fake{}, "", "systeminfo", "/fo", "csv"); !strings.HasPrefix(got.Out,
		`"Host Name","OS Name","OS Version",`) || strings.Count(got.Out, "\n") != 2 {
		t.Errorf("%+v", got)
	}
	if got := run(t, &fake{}, "", "systeminfo", "/fo", "table", "/nh"); !strings.HasPrefix(got.Out,
		"\nWIN-1     Microsoft Windows") {
		t.Errorf("%+v", got)
	}

	for _, args := range [][]string{{"/z"}, {"/fo", "xml"}, {"/nh"}} {
		if got := run(t, &fake{}, "", append([]string{"systeminfo"}, args...)...); got.Code != 1 || got.Err == "" ||
			got.Out != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
