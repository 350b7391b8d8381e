package programs

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// Results are what came out with one version of Wine.
type Results struct {
	// Wine is the version, for example "8.0".
	Wine     string    `json:"wine"`
	Programs []Outcome `json:"programs"`
}

// Outcome is what came out of one row.
type Outcome struct {
	ID string `json:"id"`
	// Version is what was tried, Date the day, Commit the commit of this repository.
	Version string   `json:"version"`
	Date    string   `json:"date"`
	Commit  string   `json:"commit"`
	Checks  []Passed `json:"checks"`
}

// Passed says of one check whether it passed.
type Passed struct {
	Name    string  `json:"name"`
	Passed  bool    `json:"passed"`
	Seconds float64 `json:"seconds"`
}

// Add records how a check went.
func (o *Outcome) Add(name string, passed bool, took time.Duration) {
	seconds := took.Round(100 * time.Millisecond).Seconds()
	o.Checks = append(o.Checks, Passed{
		Name:    name,
		Passed:  passed,
		Seconds: seconds,
	})
}

// Put puts an outcome in the place of the row's earlier one.
func (r *Results) Put(o Outcome) {
	r.Programs = slices.DeleteFunc(r.Programs, func(old Outcome) bool { return old.ID == o.ID })
	r.Programs = append(r.Programs, o)
	slices.SortFunc(r.Programs, func(a, b Outcome) int { return strings.Compare(a.ID, b.ID) })
}

// find returns the outcome of a row, if it is of the row's version.
func (r *Results) find(row Row) (Outcome, bool) {
	i := slices.IndexFunc(r.Programs, func(o Outcome) bool { return o.ID == row.ID && o.Version == row.Version })
	if i < 0 {
		return Outcome{}, false
	}
	return r.Programs[i], true
}

func resultsFile(dir, wine string) string { return filepath.Join(dir, "wine-"+wine+".yaml") }

// ReadResults reads what a folder has of a version of Wine; nothing, if it has no file of it.
func ReadResults(dir, wine string) (Results, error) {
	r := Results{Wine: wine}
	file := resultsFile(dir, wine)
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	if err := yaml.UnmarshalStrict(text, &r); err != nil {
		return r, fmt.Errorf("read %q: %w", file, err)
	}
	return r, nil
}

// Write writes the results to their file in a folder.
func (r *Results) Write(dir string) error {
	text, err := yaml.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(resultsFile(dir, r.Wine), text, 0o644)
}

// ReadAll reads the results of all versions of Wine in a folder, oldest first.
func ReadAll(dir string) ([]Results, error) {
	files, err := fs.Glob(os.DirFS(dir), "wine-*.yaml")
	if err != nil {
		return nil, err
	}

	var all []Results
	for _, file := range files {
		r, err := ReadResults(dir, strings.TrimSuffix(strings.TrimPrefix(file, "wine-"), ".yaml"))
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}

	slices.SortFunc(all, func(a, b Results) int { return compareVersions(a.Wine, b.Wine) })
	return all, nil
}

// compareVersions compares versions of Wine, of which "10.0" is newer than "8.0".
func compareVersions(a, b string) int {
	if d := strings.Index(a+".", ".") - strings.Index(b+".", "."); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

const head = `# Programs that Mullion was tried with

Printed from the table and the results of ` + "`test/programs`" + `; ` + "`make test-programs`" + ` tries them,
` + "`make update`" + ` writes this page. Each is the program as it is published, or built from its published
module without changes. It is run as a container runs it: by mullion-run.exe, in a Wine prefix with Mullion's
shims, with pipes as standard handles. Servers are asked from Linux, and told to end as a container's programs
are (CTRL_SHUTDOWN).
Wine 8.0 is Debian 12's, Wine 10.0 Debian 13's. A cell says how many of the checks pass; the checks stand in the column
before. Where one does not pass, the last column says why, as far as it is known.

`

// WritePage prints the page: a table for each family, with a column for each version of Wine that has results.
func WritePage(w io.Writer, rows []Row, results []Results) error {
	var b strings.Builder
	b.WriteString(head)
	for _, family := range Families() {
		fmt.Fprintf(&b, "## %s\n\n| program | version | what is tried |", family)
		for _, r := range results {
			fmt.Fprintf(&b, " Wine %s |", r.Wine)
		}

		b.WriteString(" what does not pass, and why |\n|---|---|---|" + strings.Repeat("---|", len(results)) + "---|\n")
		for _, row := range rows {
			if row.Family == family {
				b.WriteString(row.line(results))
			}
		}

		b.WriteString("\n")
	}

	fmt.Fprintf(&b, "## %s\n\n| program | why |\n|---|---|\n", NotToBeHad)
	for _, row := range rows {
		if row.Family == NotToBeHad {
			fmt.Fprintf(&b, "| %s | %s |\n", row.Title, row.Missing)
		}
	}

	_, err := io.WriteString(w, b.String())
	return err
}

// line returns the row's line of the page.
func (row Row) line(results []Results) string {
	var names, whys []string
	for _, c := range row.Checks {
		names = append(names, c.Name)
	}

	var line strings.Builder
	fmt.Fprintf(&line, "| %s | %s | %s |", row.Title, row.Version, strings.Join(names, "; "))
	for _, r := range results {
		o, ok := r.find(row)
		if !ok {
			line.WriteString(" not tried |")
			continue
		}

		passed := 0
		for _, c := range o.Checks {
			if c.Passed {
				passed++
				continue
			}

			why := "not yet known why"
			for _, known := range row.Checks {
				if known.Name == c.Name && known.gap(r.Wine) != "" {
					why = known.gap(r.Wine)
				}
			}

			whys = append(whys, fmt.Sprintf("Wine %s, %s: %s", r.Wine, c.Name, why))
		}

		fmt.Fprintf(&line, " %d of %d |", passed, len(row.Checks))
	}

	return line.String() + " " + strings.Join(whys, "; ") + " |\n"
}
