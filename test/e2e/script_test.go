//go:build cluster

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/testrun"
)

// settle is how long a condition may take to come true, unless a script says otherwise.
const settle = 90 * time.Second

// patience returns the factor by which every wait may take longer: E2E_PATIENCE, for an emulated machine.
func patience() time.Duration {
	factor, err := strconv.Atoi(os.Getenv("E2E_PATIENCE"))
	if err != nil || factor < 1 {
		return 1
	}
	return time.Duration(factor)
}

// commands returns the commands that scripts have besides testscript's own.
func commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"eventually": eventually, "once": once, "registry": serveRegistry, "start": start, "terminal": terminal,
		"victim": victim,
	}
}

// condition evaluates a condition that scripts write in brackets, besides those of testscript: "cgroup2".
func condition(name string) (bool, error) {
	if name != "cgroup2" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	var st unix.Statfs_t
	err := unix.Statfs("/sys/fs/cgroup", &st)
	return st.Type == unix.CGROUP2_SUPER_MAGIC, err
}

// once attack|race|loss|leftover|order: what testrun.Once is to a test. If the script fails from there on, it is not
// run a second time; if it fails before, it is.
func once(ts *testscript.TestScript, neg bool, args []string) {
	why := map[string]string{
		"attack":   testrun.Attack,
		"race":     testrun.Race,
		"loss":     testrun.Loss,
		"leftover": testrun.Leftover,
		"order":    testrun.Order,
	}
	if neg || len(args) != 1 || why[args[0]] == "" {
		ts.Fatalf("usage: once attack|race|loss|leftover|order")
	}
	ts.Logf("%s%s", testrun.OnceMark, why[args[0]])
}

// option takes "-name=value" off the front of args.
func option(args []string, name string) (value string, rest []string) {
	if len(args) > 0 {
		if v, ok := strings.CutPrefix(args[0], "-"+name+"="); ok {
			return v, args[1:]
		}
	}
	return "", args
}

// command prepares a program with the script's environment and folder.
func command(ts *testscript.TestScript, args []string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = os.Environ()
	for _, name := range []string{"PATH", "MULLION_DATA_DIR", "KUBECONFIG", "HOME", "ROOT"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	if path, err := lookIn(ts.Getenv("PATH"), args[0]); err == nil {
		cmd.Path, cmd.Err = path, nil
	}
	cmd.Dir = ts.Getenv("WORK")
	return cmd
}

// eventually [-for=DURATION] PATTERN COMMAND…: repeats the command until it succeeds and its output matches the pattern
// ("!" before it: until it does not match). A pattern that begins with "failed:" is for a command that has to fail.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	within := settle
	limit, args := option(args, "for")
	if limit != "" {
		d, err := time.ParseDuration(limit)
		ts.Check(err)
		within = d
	}

	if len(args) < 2 {
		ts.Fatalf("usage: [!] eventually [-for=DURATION] PATTERN COMMAND...")
	}

	pattern, fails := strings.CutPrefix(args[0], "failed:")
	want, err := regexp.Compile("(?s)" + pattern)
	ts.Check(err)
	within *= patience()
	began := time.Now()
	deadline := began.Add(within)
	for {
		var out bytes.Buffer
		cmd := command(ts, args[1:])
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		// A command that failed says nothing of what is gone.
		if want.Match(out.Bytes()) != neg && (err == nil) != fails {
			ts.Logf("%s", out.String())
			return
		}

		if time.Now().After(deadline) {
			ts.Fatalf("%s: after %s the output does not (neg=%v) match %q (%v):\n%s", strings.Join(args[1:], " "),
				within, neg, args[0], err, out.String())
		}
		<-time.After(pause(time.Since(began)) * patience())
	}
}

// pause returns how long a script waits between two looks at what it has waited for that long. Each look is a program
// that takes a quarter of a second of a processor, so looks become rarer: they must not take the processors from what
// is waited for, and from the scripts beside this one.
func pause(waited time.Duration) time.Duration {
	return min(max(waited/8, 300*time.Millisecond), time.Second)
}

// start [-out=FILE] COMMAND…: runs a command in the background until the script ends.
func start(ts *testscript.TestScript, _ bool, args []string) {
	name, args := option(args, "out")
	cmd := command(ts, args)
	if name != "" {
		file, err := os.Create(ts.MkAbs(name))
		ts.Check(err)
		ts.Defer(func() { _ = file.Close() })
		cmd.Stdout, cmd.Stderr = file, file
	}

	ts.Check(cmd.Start())
	ts.Defer(func() {
		if err := cmd.Process.Kill(); err == nil {
			_, _ = cmd.Process.Wait()
		}
	})
}

// victim makes a folder on the machine with files that nothing may change, and sets VICTIM to its path. The folder is
// not below /tmp, because nodes see nothing of /tmp.
func victim(ts *testscript.TestScript, _ bool, _ []string) {
	dir, err := os.MkdirTemp("/var/tmp", "mullion-e2e-")
	ts.Check(err)
	ts.Defer(func() { _ = os.RemoveAll(dir) })
	ts.Check(os.Mkdir(filepath.Join(dir, "folder"), 0o755))
	for _, name := range []string{"file", "folder/inner"} {
		ts.Check(os.WriteFile(filepath.Join(dir, name), []byte("untouched\n"), 0o644))
	}
	ts.Setenv("VICTIM", dir)
}

func lookIn(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		full := filepath.Join(dir, name)
		if info, err := os.Stat(full); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return full, nil
		}
	}
	return "", exec.ErrNotFound
}
