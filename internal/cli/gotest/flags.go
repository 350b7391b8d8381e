package gotest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/cli/exit"
)

// ofRun returns the flags of `mullion run` that a test's container can have. All have a value.
func ofRun() []string {
	return []string{
		"data-dir", "windows-version", "network", "memory", "cpus", "user", "env", "env-file", "volume", "dns", "publish", "hostname",
	}
}

// split takes the flags of `mullion run` from the beginning of a command line; the rest is go's.
func split(args []string) (own, rest []string, err error) {
	for len(args) > 0 {
		name, value, has := strings.Cut(strings.TrimPrefix(args[0], "--"), "=")
		if !strings.HasPrefix(args[0], "--") || !slices.Contains(ofRun(), name) {
			break
		}

		args = args[1:]
		if !has {
			if len(args) == 0 {
				return nil, nil, exit.Misuse(fmt.Errorf("--%s has no value", name), "see `mullion test --help`")
			}
			value, args = args[0], args[1:]
		}
		if strings.Contains(value, `"`) && strings.Contains(value, "'") {
			return nil, nil, exit.Misuse(fmt.Errorf("--%s %s: go's -exec takes no word with both quotes", name, value),
				"put the variable in a file: --env-file")
		}

		own = append(own, "--"+name+"="+value)
	}

	return own, args, nil
}

// asksForHelp reports whether a person wants to know how the command is used; -h alone is go's too.
func asksForHelp(own, rest []string) bool {
	return len(rest) > 0 && (rest[0] == "--help" || (len(own) == 0 && rest[0] == "-h"))
}

// check refuses what go test cannot do for Windows on this machine.
func check(args []string) error {
	for _, arg := range args {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		if !strings.HasPrefix(arg, "-") || value == "false" {
			continue
		}

		switch name {
		case "args":
			return nil // what follows is the tests' own
		case "race", "msan", "asan":
			return exit.Misuse(fmt.Errorf("-%s needs cgo, and a compiler of C for Windows: tests are built without", name),
				"leave it out; `go test -"+name+"` tests the same code for Linux")
		case "exec":
			return exit.Misuse(errors.New("-exec is what `mullion test` passes itself"),
				"call go yourself: GOOS=windows go test -exec 'mullion run --go-test --' ./...")
		}
	}

	return nil
}

// arguments returns the command line of go: -C has to be its first flag.
func arguments(runner string, rest []string) []string {
	var first []string
	switch {
	case len(rest) > 1 && (rest[0] == "-C" || rest[0] == "--C"):
		first, rest = rest[:2], rest[2:]
	case len(rest) > 0 && (strings.HasPrefix(rest[0], "-C=") || strings.HasPrefix(rest[0], "--C=")):
		first, rest = rest[:1], rest[1:]
	}
	return slices.Concat([]string{"test"}, first, []string{"-exec=" + runner}, rest)
}
