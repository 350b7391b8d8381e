//go:build wine

package run

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
)

// module returns a copy of the module of testdata, which belongs to somebody.
func module(t *testing.T, uid int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "module")
	if err := os.CopyFS(dir, os.DirFS("testdata/module")); err != nil {
		t.Fatal(err)
	}

	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(path, uid, uid)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return dir
}

// tests is `mullion test` in a folder.
func (r *room) tests(ctx context.Context, dir string, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(r.bin, "mullion"), append([]string{"--data-dir", r.data, "test"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "OUTSIDE=seen", "GOFLAGS=", "GOWORK=off", "PWD="+dir)
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// test runs one to its end.
func (r *room) test(t *testing.T, dir string, env []string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()

	cmd := r.tests(ctx, dir, env, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the code is looked at
	if ctx.Err() != nil {
		t.Fatalf("mullion test %q does not end: %s%s", args, &out, &errs)
	}

	return result{
		out:  out.String(),
		err:  errs.String(),
		code: cmd.ProcessState.ExitCode(),
	}
}

// TestModule runs the tests of a module as a person does.
func TestModule(t *testing.T) {
	r := theRoom(t)
	dir := module(t, 1000)

	got := r.test(t, dir, nil, "-json", "./...")
	if got.code != 0 {
		t.Fatalf("code %d: %s%s", got.code, got.out, got.err)
	}
	want := map[string]string{
		"TestPlace": "pass", "TestEnvironment": "pass", "TestFile": "pass", "TestGolden": "pass", "TestItself": "pass",
		"TestSkipped": "skip", "TestFailing": "pass", "FuzzWords": "pass", "TestSlow": "skip",
	}

	ended := actions(t, got.out)
	for name, action := range want {
		if ended[name] != action {
			t.Errorf("%s: %q, want %s", name, ended[name], action)
		}
	}

	for _, tc := range []struct {
		name string
		args []string
		env  []string
		code int
		out  string // a part of what is said
		file string // below the module, that is made
	}{
		{"a-failure", []string{"./parse"}, []string{"FAIL=1"}, 1, "as it is asked to", ""},
		{"another-build", []string{"--windows-version", "ltsc2019", "-run", "TestPlace", "-v", "./parse"}, nil, 0, "--- PASS: TestPlace", ""},
		{"coverage", []string{"-coverprofile=cover.out", "./parse"}, nil, 0, "% of statements", "cover.out"},
		{"profiles", []string{"-cpuprofile=cpu.out", "-trace", "trace.out", "-run=TestFile", "./parse"}, nil, 0, "ok", "trace.out"},
		{"update", []string{"-run=TestGolden", "./parse", "-update"}, nil, 0, "ok", "parse/testdata/golden"},
		{"bench", []string{"-run=^$", "-bench=.", "-benchtime=10x", "./parse"}, nil, 0, "BenchmarkWords", ""},
		{"fuzz", []string{"-run=^$", "-fuzz=FuzzWords", "-fuzztime=60s", "./parse"}, nil, 1, "Failing input written", "parse/testdata/fuzz/FuzzWords"},
		{"race", []string{"-race", "./..."}, nil, 2, "-race needs cgo", ""},
		{"no-package", []string{"./none"}, nil, 1, "directory not found", ""},
		{"too-long", []string{"-timeout=1s", "./slow"}, []string{"SLOW=1"}, 1, "panic: test timed out after 1s", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := r.test(t, dir, tc.env, tc.args...)
			if got.code != tc.code || !strings.Contains(got.out+got.err, tc.out) {
				t.Errorf("code %d, want %d with %q: %s%s", got.code, tc.code, tc.out, got.out, got.err)
			}
			if tc.file == "" {
				return
			}

			info, err := os.Stat(filepath.Join(dir, tc.file))
			if err != nil {
				t.Error(err)
			} else if info.Size() == 0 {
				t.Errorf("%s is empty", tc.file)
			}
		})
	}

	if left, _ := filepath.Glob(filepath.Join(r.data, "scratch-*")); len(left) > 0 {
		t.Errorf("there still are %q", left)
	}
}

// actions returns how the tests ended, of what go says with -json.
func actions(t *testing.T, out string) map[string]string {
	t.Helper()
	ended := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(out))
	for lines.Scan() {
		var event struct{ Action, Test string }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		if event.Action == "pass" || event.Action == "fail" || event.Action == "skip" {
			ended[event.Test] = event.Action
		}
	}
	return ended
}

// TestModuleOfRoots: a module that root owns is read, and what its tests write there is refused.
func TestModuleOfRoots(t *testing.T) {
	r := theRoom(t)
	dir := module(t, 0)
	if got := r.test(t, dir, nil, "-coverprofile=cover.out", "-run=TestFile", "./parse"); got.code != 0 {
		t.Errorf("code %d: %s%s", got.code, got.out, got.err)
	}
	if _, err := os.Stat(filepath.Join(dir, "cover.out")); err != nil {
		t.Error(err)
	}
	got := r.test(t, dir, nil, "-run=TestGolden", "./parse", "-update")
	if got.code != 1 || !strings.Contains(got.out, "Access is denied") {
		t.Errorf("code %d: %s%s", got.code, got.out, got.err)
	}
}

// TestModuleIsLeft ends who waits for tests that run, in each way; then these end too.
func TestModuleIsLeft(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	r := theRoom(t)
	dir := module(t, 1000)
	for _, tc := range []struct {
		name   string
		env    string
		signal syscall.Signal
		group  bool // the signal is for all, as Ctrl-C is
	}{
		{"Ctrl-C", "SLOW=1", syscall.SIGINT, true},
		{"SIGTERM", "SLOW=1", syscall.SIGTERM, false},
		{"killed", "SLOW=1", syscall.SIGKILL, true},
		{"SIGQUIT", "SLOW=deaf", syscall.SIGQUIT, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			cmd := r.tests(ctx, dir, []string{tc.env}, "-v", "./slow")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			out := &lines{}
			cmd.Stdout, cmd.Stderr = out, out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}

			if !within(time.Minute, func() bool { return strings.Contains(out.String(), "waiting") }) {
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
				t.Fatalf("the tests do not run: %s", out)
			}
			if r.process(isInit) == 0 {
				t.Fatal("the control: there is no container")
			}

			to := cmd.Process.Pid
			if tc.group {
				to = -to
			}
			if err := syscall.Kill(to, tc.signal); err != nil {
				t.Fatal(err)
			}

			if err := cmd.Wait(); err == nil {
				t.Errorf("it ended well: %s", out)
			}
			if !within(20*time.Second, func() bool { return r.process(isInit) == 0 }) {
				t.Errorf("the tests go on: %s", out)
			}
		})
	}
}
