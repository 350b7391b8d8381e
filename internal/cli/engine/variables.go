package engine

import (
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/cli/invoke"
)

// mostOfEnvFile bounds a file of variables or labels, in bytes.
const mostOfEnvFile = 1 << 20

// Lines returns the lines of files of variables or labels, but for empty ones and comments.
func Lines(what string, files []string) (lines []string, err error) {
	for _, file := range files {
		text, err := beneath.ReadPath(file, mostOfEnvFile)
		if err != nil {
			return nil, Failed(fmt.Errorf("read %s: %w", what, err), "")
		}
		for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
			line = strings.TrimLeft(strings.TrimRight(line, "\r\n"), " \t")
			if line != "" && !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
	}
	return lines, nil
}

// Variables returns the variables of the files, and then of the flags. A name without a value has the one that it has
// here, and is left out if it has none, as docker does.
func Variables(env invoke.Env, flags, files []string) ([]string, error) {
	lines, err := Lines("variables", files)
	if err != nil {
		return nil, err
	}

	var out []string
	for _, line := range append(lines, flags...) {
		name, value, has := strings.Cut(line, "=")
		if name == "" || strings.ContainsRune(line, 0) {
			return nil, Failed(fmt.Errorf("%q is no variable", line), "for example: -e LOG=debug")
		}
		if !has {
			if value, has = lookupEnv(env, name); !has {
				continue
			}
		}

		out = append(out, name+"="+value)
	}

	return out, nil
}

// lookupEnv returns the value of a variable of this process.
func lookupEnv(env invoke.Env, name string) (string, bool) {
	for _, line := range slices.Backward(env.Environ) {
		if k, v, ok := strings.Cut(line, "="); ok && k == name {
			return v, true
		}
	}
	return "", false
}
