package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/conformance/ginkgo"
	"mullion.dev/mullion/internal/conformance/result"
	"mullion.dev/mullion/internal/conformance/suite"
)

// missing turns the error of a missing program into one that says that e2e.test has not been built.
func missing(program string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		return &Error{
			Err:    fmt.Errorf("no e2e tests at %q", program),
			Remedy: "install the package mullion-e2e; in a checkout, `make e2e` builds them; or name an e2e.test with --e2e-test",
		}
	}
	return err
}

// version returns the version of e2e.test.
func (c Config) version(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, c.Program, "--version").Output()
	if err != nil {
		return "", missing(c.Program, fmt.Errorf("ask e2e.test for its version: %w", err))
	}
	return strings.TrimSpace(string(out)), nil
}

// List returns the names of the specs that a suite selects, sorted. It needs no cluster.
func List(ctx context.Context, program string, s suite.Suite) ([]string, error) {
	dir, err := os.MkdirTemp("", "mullion-conformance-")
	if err != nil {
		return nil, fmt.Errorf("make folder for the list of specs: %w", err)
	}

	file := filepath.Join(dir, "list.json")
	args := append([]string{
		"--provider=skeleton", "--node-os-distro=windows", "--ginkgo.dry-run", "--ginkgo.no-color", "--ginkgo.succinct",
		"--ginkgo.silence-skips", "--ginkgo.json-report=" + file,
	}, selection(result.Run{
		Focus:   s.Focus,
		Skip:    s.Skip,
		Drivers: s.Drivers,
	}, nil)...)

	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err != nil {
		err = missing(program, fmt.Errorf("list specs: %w: %s", err, lastLines(string(out), 5)))
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	names, err := readList(file)
	return names, errors.Join(err, os.RemoveAll(dir))
}

func readList(file string) ([]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read list of specs: %w", err)
	}
	var suites []struct{ SpecReports []ginkgo.Report }
	if err := json.Unmarshal(data, &suites); err != nil {
		return nil, fmt.Errorf("parse list of specs: %w", err)
	}

	var names []string
	for _, s := range suites {
		for _, r := range s.SpecReports {
			if r.IsSpec() && r.State == ginkgo.Passed {
				names = append(names, r.Name())
			}
		}
	}

	slices.Sort(names)
	return slices.Compact(names), nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
