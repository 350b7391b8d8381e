package machines

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/test/machines/guest"
)

// Result is what happened on one machine.
type Result struct {
	Machine guest.Machine `json:"machine"`
	// Kernel is the release, as uname -r prints it, Date the day of the run, Commit the commit that was tried.
	Kernel string `json:"kernel"`
	Date   string `json:"date"`
	Commit string `json:"commit"`
	// UpSeconds is how long the first `mullion up` took, on emulated processors.
	UpSeconds float64 `json:"upSeconds"`
	Steps     []Step  `json:"steps"`
	// Halves says that the steps were taken in two halves, each on a fresh guest.
	Halves bool `json:"halves,omitempty"`
}

// Step is one thing that was tried.
type Step struct {
	Name    string  `json:"name"`
	Passed  bool    `json:"passed"`
	Seconds float64 `json:"seconds"`
}

// Add records how a step went.
func (r *Result) Add(name string, passed bool, took time.Duration) {
	r.Steps = append(r.Steps, Step{
		Name:    name,
		Passed:  passed,
		Seconds: took.Round(time.Second).Seconds(),
	})
}

// Join adds the steps of the other half of the same machine, kernel and commit, if it is among results. A step of both
// halves has passed if it has in both.
func (r *Result) Join(results []Result) {
	i := slices.IndexFunc(results, func(o Result) bool {
		return o.Machine == r.Machine && o.Kernel == r.Kernel && o.Commit == r.Commit
	})
	if i < 0 {
		return
	}

	r.Halves = true
	var others []Step
	for _, s := range results[i].Steps {
		if at := slices.IndexFunc(r.Steps, func(own Step) bool { return own.Name == s.Name }); at >= 0 {
			r.Steps[at].Passed = r.Steps[at].Passed && s.Passed
		} else {
			others = append(others, s)
		}
	}

	r.Steps = append(r.Steps, others...)
}

// WriteJUnit writes the steps as a test suite of JUnit's form.
func (r *Result) WriteJUnit(w io.Writer) error {
	type testcase struct {
		Name    string    `xml:"name,attr"`
		Time    float64   `xml:"time,attr"`
		Failure *struct{} `xml:"failure,omitempty"`
	}

	suite := struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Cases    []testcase `xml:"testcase"`
	}{Name: r.Machine.Name, Tests: len(r.Steps)}

	for _, s := range r.Steps {
		c := testcase{Name: s.Name, Time: s.Seconds}
		if !s.Passed {
			c.Failure = &struct{}{}
			suite.Failures++
		}
		suite.Cases = append(suite.Cases, c)
	}

	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	return e.Encode(suite)
}

// ReadResults reads the files of a folder.
func ReadResults(dir string) ([]Result, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}

	var all []Result
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var r Result
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("read %q: %w", file, err)
		}
		all = append(all, r)
	}

	return all, nil
}

const head = `# Machines that Mullion was tried on

Printed from docs/compat/machines; ` + "`make test-machines`" + ` tries them, ` + "`make update`" + ` writes this page.
Each is a guest with the distribution's own kernel, systemd and cgroup v2, made from its packages, on two emulated
processors with 6 GiB (trixie-small: one, with 2 GiB): times say what emulation costs, not what Mullion does. A
hardened machine has noexec, nosuid and nodev on /run, /tmp, /var/tmp and /dev/shm, AppArmor, a firewall that drops,
no IPv6, a strict umask, sessions whose processes end with them, and a language and time zone of its own
([how](../../test/machines/guest/scripts/harden.sh)). trixie-selinux enforces Debian's policy. A row of four
steps (three before 2026-11-30) is of what ` + "`make test`" + ` tries: up, the sample's page, ` + "`mullion run`" + `, down without a trace; one of 11 to 15 steps is half of a row: the work of pods, or faults.

| machine | kernel | firewall | passed | ` + "`up`" + `, emulated | what did not pass | tried |
|---|---|---|---|---|---|---|
`

// WritePage prints the table. Machines without a result stand in it as not tried.
func WritePage(w io.Writer, results []Result) error {
	var b strings.Builder
	b.WriteString(head)
	for _, m := range guest.Machines() {
		i := slices.IndexFunc(results, func(r Result) bool { return r.Machine.Name == m.Name })
		if i < 0 {
			fmt.Fprintf(&b, "| %s | | %s | not tried whole yet | | | |\n", m.Name, m.Firewall)
			continue
		}

		r := results[i]
		passed := 0
		var failed []string
		for _, s := range r.Steps {
			if s.Passed {
				passed++
			} else {
				failed = append(failed, s.Name)
			}
		}

		how := ""
		if r.Halves {
			how = ", on two guests"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d of %d%s | %.0f s | %s | %s, %s |\n", m.Name, r.Kernel, m.Firewall, passed,
			len(r.Steps), how, r.UpSeconds, strings.Join(failed, ", "), r.Date, r.Commit)
	}

	_, err := io.WriteString(w, b.String())
	return err
}
