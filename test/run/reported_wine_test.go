//go:build wine

package run

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestReportedScripts runs what people run in their containers, each a file of testdata/field: its files are in
// C:\field, and of these run.ps1, run.cmd or the command line in args, an argument a line, is run. Flags has flags of
// mullion run. In out and err is an expression a line, those of out in the order in which they are printed; code is the
// exit code. A script that is not carried out as it should be is skipped if all that Mullion's PowerShell says that it
// has not got is in its part lacks, an expression a line.
func TestReportedScripts(t *testing.T) {
	r := theRoom(t)
	certificate(t, filepath.Join(r.dir, "own.cer"))
	agent := filepath.Join(r.dir, "app", "node-agent.exe")
	if err := os.Link(r.program(), agent); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(agent) })

	volume, somebody := filepath.Join(r.dir, "volume"), 1000 // what root owns a container reads
	if err := errors.Join(os.MkdirAll(volume, 0o755), os.Chown(volume, somebody, somebody)); err != nil {
		t.Fatal(err)
	}

	files, err := filepath.Glob("testdata/field/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { r.fieldScript(t, file) })
	}
}

func (r *room) fieldScript(t *testing.T, file string) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(r.dir, "field-") //nolint:usetesting // the room removes it with all that is in it
	if err != nil {
		t.Fatal(err)
	}

	parts := map[string]string{}
	for _, f := range archive.Files {
		parts[f.Name] = strings.TrimSuffix(string(f.Data), "\n")
		at := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}

	args := []string{"-v", "./" + filepath.Base(dir) + `:C:\field:ro`, "-v", `./app:C:\app:ro`, "-e", `PATH=C:\app;C:\Windows\system32;C:\Windows`}
	args = append(append(args, list(parts["flags"])...), bare)
	got := r.run(t, "", append(args, command(parts)...)...)
	wrong := compare(got, parts)
	if len(wrong) == 0 {
		return
	}

	lacks := lacking(got.err, list(parts["lacks"]))
	if len(lacks) > 0 {
		t.Skipf("Mullion's PowerShell lacks what it needs: %s", strings.Join(lacks, "; "))
	}
	t.Errorf("%s\nit printed\n%s\nand said\n%s", strings.Join(wrong, "\n"), got.out, got.err)
}

// compare says in what a script did not do as it should.
func compare(got result, parts map[string]string) (wrong []string) {
	if code := cmp.Or(parts["code"], "0"); strconv.Itoa(got.code) != code {
		wrong = append(wrong, fmt.Sprintf("it ends with %d, want %s", got.code, code))
	}

	rest := got.out
	for _, want := range list(parts["out"]) {
		at := regexp.MustCompile("(?m)" + want).FindStringIndex(rest)
		if at == nil {
			wrong = append(wrong, "it does not print "+want+", or not in this order")
			continue
		}
		rest = rest[at[1]:]
	}

	for _, want := range list(parts["err"]) {
		if !regexp.MustCompile("(?m)" + want).MatchString(got.err) {
			wrong = append(wrong, "it does not say "+want)
		}
	}

	return wrong
}

// lacking returns the known gaps of which a script was told, none if it was told of another, too.
func lacking(said string, known []string) (lacks []string) {
	for line := range strings.Lines(said) {
		if !strings.Contains(line, "not part of Mullion's PowerShell") && !strings.Contains(line, "Add-Type : ") {
			continue
		}
		at := slices.IndexFunc(known, func(gap string) bool { return regexp.MustCompile(gap).MatchString(line) })
		if at < 0 {
			return nil
		}
		if !slices.Contains(lacks, known[at]) {
			lacks = append(lacks, known[at])
		}
	}
	return lacks
}

// command returns what a script's container runs.
func command(parts map[string]string) []string {
	switch {
	case parts["args"] != "":
		return list(parts["args"])
	case parts["run.cmd"] != "":
		return []string{"cmd", "/c", `C:\field\run.cmd`}
	}
	return []string{"powershell", "-NoProfile", "-ExecutionPolicy", "Bypass", "-File", `C:\field\run.ps1`}
}

// list returns the lines of a part, none if it is not there.
func list(part string) []string {
	if part == "" {
		return nil
	}
	return slices.Collect(strings.SplitSeq(part, "\n"))
}
