//go:build wine

package programs

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/windows/wine/winetest"
)

// chosenName is the variable that chooses rows: "all", or IDs with commas. Without it, the quick ones are run.
const chosenName = "MULLION_PROGRAMS"

// chosen returns the rows to run.
func chosen(t *testing.T) []Row {
	t.Helper()
	names := os.Getenv(chosenName)
	var rows []Row
	for _, row := range Rows() {
		switch {
		case row.Source.none():
		case names == "" && row.Quick, names == "all", slices.Contains(strings.Split(names, ","), row.ID):
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		t.Fatalf("no program of the table is named in %s=%s", chosenName, names)
	}

	return rows
}

// TestSources has the sources of the chosen rows fetched and built, for a run that cannot do so itself.
func TestSources(t *testing.T) {
	if os.Getenv("MULLION_PROGRAMS_FETCH") == "" {
		t.Skip("TestPrograms fetches what it needs itself; MULLION_PROGRAMS_FETCH=1 fetches all before")
	}
	for _, row := range chosen(t) {
		t.Run(row.ID, func(t *testing.T) { row.Source.get(t) })
	}
}

// TestPrograms makes the checks of the chosen rows, in one prefix.
func TestPrograms(t *testing.T) {
	p := winetest.New(t, "httpapi.dll", "mi.dll", "mullionhttp.exe", "ncrypt.dll", "pdh.dll", "tdh.dll", "wevtapi.dll")
	for _, row := range chosen(t) {
		t.Run(row.ID, func(t *testing.T) {
			b := newBench(t, p, row)
			outcome := Outcome{
				ID:      row.ID,
				Version: row.Version,
				Date:    time.Now().UTC().Format(time.DateOnly),
			}

			for _, c := range row.Checks {
				t.Run(strings.ReplaceAll(c.Name, " ", "_"), func(t *testing.T) {
					begin := time.Now()
					gap, within := c.gap(p.Install.Version), longest
					if gap != "" {
						within = gapTime
					}

					err := b.try(t.Context(), c, within)
					outcome.Add(c.Name, err == nil, time.Since(begin))
					switch {
					case err == nil && gap != "":
						t.Errorf("it passes with Wine %s: take this gap out of the table: %s", p.Install.Version, gap)
					case err != nil && gap != "":
						t.Logf("the known gap (%s):\n%v", gap, err)
					case err != nil:
						t.Error(err)
					}
				})
			}

			if len(outcome.Checks) == len(row.Checks) {
				record(t, p.Install.Version, outcome)
			}
		})
	}
}

// record stores what came out of a row among the documents, if MULLION_PROGRAMS_RECORD is set.
func record(t *testing.T, wine string, outcome Outcome) {
	t.Helper()
	if os.Getenv("MULLION_PROGRAMS_RECORD") == "" {
		return
	}

	outcome.Commit = os.Getenv("MULLION_PROGRAMS_COMMIT")
	if outcome.Commit == "" {
		commit, err := exec.CommandContext(t.Context(), "git", "rev-parse", "--short", "HEAD").Output()
		if err != nil {
			t.Fatal(err)
		}
		outcome.Commit = strings.TrimSpace(string(commit))
	}

	dir := filepath.Join("..", "..", "docs", "compat", "programs")
	results, err := ReadResults(dir, wine)
	if err != nil {
		t.Fatal(err)
	}
	results.Put(outcome)
	if err := results.Write(dir); err != nil {
		t.Fatal(err)
	}
}
