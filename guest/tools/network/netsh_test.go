package network

import (
	"strings"
	"testing"
)

func TestURLs(t *testing.T) {
	w := &fake{}
	for _, tc := range []struct {
		line string
		want result
	}{
		{"netsh http add urlacl url=http://+:80/ user=Everyone", result{Out: "\nURL reservation successfully added\n\n"}},
		{
			"netsh http add urlacl http://+:80/ Users",
			result{Code: 1, Err: "Url reservation add failed, Error: 183\nCannot create a file when that file already exists.\n"},
		},
		{"netsh HTTP add urlacl url=http://+:80 user=Everyone", result{Code: 1, Err: "The parameter is incorrect.\n"}},
		{
			"netsh http show urlacl", result{Out: "\nURL Reservations:\n-----------------\n\n    Reserved URL            : http://+:80/\n" +
				"        User: Everyone\n            Listen: Yes\n            Delegate: No\n\n"},
		},
		{"netsh http show urlacl url=http://+:81/", result{Out: "\nURL Reservations:\n-----------------\n\n"}},
		{"netsh http delete urlacl url=http://+:80/", result{Out: "\nURL reservation successfully deleted\n\n"}},
		{
			"netsh http delete urlacl url=http://+:80/",
			result{Code: 1, Err: "Url reservation delete failed, Error: 2\nThe system cannot find the file specified.\n"},
		},
		{"netsh http flush urlacl url=http://+:80/", result{Code: 1, Err: "The following command was not found: http flush urlacl.\n"}},
	} {
		if got := run(t, w, "", strings.Fields(tc.line)...); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.line, got, tc.want)
		}
	}
}
