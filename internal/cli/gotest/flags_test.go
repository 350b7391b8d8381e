package gotest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	for _, tt := range []struct{ args, own, rest string }{
		{"./...", "", "./..."},
		{"--windows-version ltsc2022 --network=none -v ./...", "--windows-version=ltsc2022 --network=none", "-v ./..."},
		{"-v --memory 1g", "", "-v --memory 1g"},
		{"--run X ./...", "", "--run X ./..."},
		{"--env=A=b=c", "--env=A=b=c", ""},
	} {
		own, rest, err := split(strings.Fields(tt.args))
		if err != nil {
			t.Error(err)
		}
		if got := strings.Join(own, " "); got != tt.own {
			t.Errorf("of %q run has %q, want %q", tt.args, got, tt.own)
		}

		if got := strings.Join(rest, " "); got != tt.rest {
			t.Errorf("of %q go has %q, want %q", tt.args, got, tt.rest)
		}
	}

	for _, args := range [][]string{{"--memory"}, {"--env", `A='"`}} {
		if own, rest, err := split(args); err == nil {
			t.Errorf("%q is %q and %q", args, own, rest)
		}
	}
}

func TestCheck(t *testing.T) {
	for args, why := range map[string]string{
		"-v -run X ./...":        "",
		"-race ./...":            "-race needs cgo",
		"--msan":                 "-msan needs cgo",
		"-asan=true":             "-asan needs cgo",
		"-race=false":            "",
		"-exec=wine ./...":       "-exec is what",
		"./... -args -race":      "",
		"-run race -v=true ./ra": "",
	} {
		err := check(strings.Fields(args))
		if (err == nil) != (why == "") || (err != nil && !strings.Contains(err.Error(), why)) {
			t.Errorf("of %q: %v, want %q", args, err, why)
		}
	}
}

func TestArguments(t *testing.T) {
	for args, want := range map[string]string{
		"-v ./...":      "test|-exec=m run --|-v|./...",
		"-C dir -v":     "test|-C|dir|-exec=m run --|-v",
		"-C=dir ./...":  "test|-C=dir|-exec=m run --|./...",
		"-v -C dir":     "test|-exec=m run --|-v|-C|dir",
		"-covermode=x":  "test|-exec=m run --|-covermode=x",
		"-coverprofile": "test|-exec=m run --|-coverprofile",
	} {
		if diff := cmp.Diff(want, strings.Join(arguments("m run --", strings.Fields(args)), "|")); diff != "" {
			t.Errorf("of %q: %s", args, diff)
		}
	}
}

func TestQuoted(t *testing.T) {
	for word, want := range map[string]string{
		"/bin/mullion": "/bin/mullion", "/my bin/m": "'/my bin/m'", "it's": `"it's"`, `a"b`: `'a"b'`, "": "''",
	} {
		if got := quoted(word); got != want {
			t.Errorf("%q is quoted %s, want %s", word, got, want)
		}
	}
}
