package script_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"mullion.dev/mullion/internal/base/support"
	"mullion.dev/mullion/internal/cli"
	"mullion.dev/mullion/internal/cli/exit"
)

var update = flag.Bool("update", false, "write what was printed into the scripts' goldens")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mullion": mullion})
}

// mullion is the program as cmd/mullion has it, but for who the user is: TEST_EUID says that, and it is nobody special
// if it is not set.
func mullion() {
	env := cli.Env{
		In:         os.Stdin,
		Out:        os.Stdout,
		Err:        os.Stderr,
		Args:       os.Args[1:],
		Environ:    os.Environ(),
		Executable: os.Getenv("TEST_EXECUTABLE"),
		Euid:       1000,
	}
	if id, err := strconv.Atoi(os.Getenv("TEST_EUID")); err == nil {
		env.Euid = id
	}
	os.Exit(exit.Code(cli.Run(context.Background(), env)))
}

func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}

	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Setup: func(e *testscript.Env) error {
			e.Setenv("ROOT", root)
			e.Setenv("MULLION_DATA_DIR", filepath.Join(e.WorkDir, "data"))
			e.Setenv("TEST_EXECUTABLE", filepath.Join(e.WorkDir, "bin", "mullion"))
			return nil
		},
	})
}

// exits CODE ARG…: runs mullion, which has to end with the code; stdout and stderr can be looked at afterwards.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE ARG...")
	}

	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := exit.OK
	if err := ts.Exec("mullion", args[1:]...); err != nil {
		coded, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("run mullion: %v", err)
		}
		got = coded.ExitCode()
	}
	if got != want {
		ts.Fatalf("mullion ended with %d, want %d", got, want)
	}

	if code := want; code != exit.OK && len(bytes.TrimSpace([]byte(ts.ReadFile("stderr")))) == 0 {
		ts.Fatalf("mullion ended with %d and said nothing", code)
	}
}

// TestSupportRows holds all rows that the program prints against the rules of the table.
func TestSupportRows(t *testing.T) {
	var out bytes.Buffer
	if err := cli.Run(t.Context(), cli.Env{
		Out:  &out,
		Err:  os.Stderr,
		Args: []string{"support", "-o", "json"},
	}); err != nil {
		t.Fatal(err)
	}

	var rows []support.Row
	if err := json.Unmarshal(out.Bytes(), &rows); err != nil {
		t.Fatal(err)
	}
	if err := support.Check(rows); err != nil {
		t.Error(err)
	}

	areas := map[string]bool{}
	for _, r := range rows {
		areas[r.Area] = true
	}

	for _, area := range []string{
		"CRI runtime calls", "HNS", "Images", "Kubernetes", "Windows API: files",
		"Windows host",
	} {
		if !areas[area] {
			t.Errorf("no row of %q", area)
		}
	}
}
