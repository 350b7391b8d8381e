//go:build wine

package winunit

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/winver"
	"mullion.dev/mullion/test/judge"
)

// TestUnits runs Kubernetes' packages of the rung; MULLION_UNITS=all runs all, and a part of a path those that have it.
func TestUnits(t *testing.T) { kubernetes().run(t) }

// TestHcsshim runs hcsshim's packages in the same way.
func TestHcsshim(t *testing.T) { hcsshim().run(t) }

func (s suite) run(t *testing.T) {
	t.Helper()
	list, err := s.units()
	if err != nil {
		t.Fatal(err)
	}

	want := os.Getenv("MULLION_UNITS")
	list = slices.DeleteFunc(list, func(u unit) bool {
		if want == "" {
			return !u.Rung
		}
		return want != "all" && !strings.Contains(u.Path, want)
	})
	if len(list) == 0 {
		t.Skipf("no package of %s has %q in its path", s.file, want)
	}

	programs := s.build(t, list)
	h := newHost(t)
	ended := map[string]string{}
	for i, u := range list {
		t.Run(strings.ReplaceAll(strings.TrimPrefix(u.Path, s.prefix), "/", "."), func(t *testing.T) {
			for name, how := range h.test(t, s, u, programs[i]) {
				ended[strings.TrimPrefix(u.Path, s.prefix)+" "+name] = how
			}
		})
	}

	count := judge.Count(ended)
	t.Logf("%s: %d passed, %d failed, %d skipped", s.file, count["pass"], count["fail"], count["skip"])
	if err := judge.Keep(ended); err != nil {
		t.Error(err)
	}
}

// build compiles the test programs, the way kubelet.exe is compiled, so that what both have in common is compiled once.
func (s suite) build(t *testing.T, list []unit) []string {
	t.Helper()
	start := time.Now()
	dir := t.TempDir()
	var programs []string
	rounds := map[int][]string{} // packages of one name get a round each
	used := map[string]int{}
	for _, u := range list {
		name := programName(u.Path)
		n := used[name]
		used[name]++
		rounds[n] = append(rounds[n], u.Path)
		programs = append(programs, filepath.Join(dir, fmt.Sprint(n), name+".test.exe"))
	}

	for n := range len(rounds) {
		args := append([]string{
			"test", "-c", "-vet=off", "-trimpath", "-ldflags=-s -w", "-o",
			filepath.Join(dir, fmt.Sprint(n)) + "/",
		}, rounds[n]...)

		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = s.dir
		cmd.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build upstream's tests: %v\n%s", err, out)
		}
	}

	t.Logf("built in %v", time.Since(start).Round(time.Second))
	return programs
}

// majorVersion is the last element of the path of a package that has versions.
var majorVersion = regexp.MustCompile(`^v[2-9][0-9]*$`)

// programName returns what the go command calls the test program of a package.
func programName(pkg string) string {
	if name := path.Base(pkg); !majorVersion.MatchString(name) {
		return name
	}
	return path.Base(path.Dir(pkg))
}

// host is a Wine prefix as Windows hosts have it, in a network namespace of its own.
type host struct {
	system *wine.System
	prefix string
	ns     string
	env    []string
}

func newHost(t *testing.T) *host {
	t.Helper()
	build, err := winver.Lookup(winver.Default())
	if err != nil {
		t.Fatal(err)
	}
	shims, err := filepath.Abs("../../bin/windows/shim")
	if err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(filepath.Join(shims, "mullionhook.dll")); err != nil {
		t.Fatalf("%v: run `make shims` first", err)
	}

	dir := t.TempDir()
	system, err := wine.Prepare(t.Context(), wine.Options{
		Dir:     filepath.Join(dir, "wine"),
		ShimDir: shims,
		Builds:  []winver.Build{build},
	})
	if err != nil {
		t.Fatal(err)
	}

	layers, err := system.Layers(build)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"upper", "work", "prefix"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	h := &host{
		system: system,
		prefix: filepath.Join(dir, "prefix"),
		ns:     netnstest.New(t, "unit"),
	}

	err = netns.Do(h.ns, func() error { // an adapter, as the counters of one are asked for
		out, err := exec.CommandContext(t.Context(), "sh", "-ec",
			"ip link add eth0 type veth peer name wire; ip link set wire up; ip link set eth0 up").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	options := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work,redirect_dir=on", strings.Join(layers, ":"),
		dir, dir)
	if err := unix.Mount("overlay", h.prefix, "overlay", 0, options); err != nil {
		t.Fatal(err)
	}

	h.env = system.HostEnv(h.prefix)
	t.Cleanup(func() {
		for _, arg := range []string{"-k", "-w"} {
			cmd := exec.CommandContext(context.WithoutCancel(t.Context()), system.ServerPath(), arg)
			cmd.Env = h.env
			_ = cmd.Run() // it may have ended by itself
		}
		if err := unix.Unmount(h.prefix, 0); err != nil {
			t.Error(err)
		}
	})

	return h
}

// test runs a package's tests in a folder that has the package's test data, as `go test` does.
// It returns how each ended.
func (h *host) test(t *testing.T, s suite, u unit, program string) map[string]string {
	t.Helper()
	dir := filepath.Join(wine.Drive(h.prefix), "src", filepath.FromSlash(u.Path))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}

	s.copyData(t, u.Path, dir)
	exe := filepath.Join(dir, "unit.test.exe")
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(exe, content, 0o755); err != nil {
		t.Fatal(err)
	}

	defer func() { _ = os.Remove(exe) }() // in a layer that is gone with the test
	args := append(h.system.LoaderArgv(), `C:\src\`+strings.ReplaceAll(u.Path, "/", `\`)+`\unit.test.exe`,
		"-test.v=test2json", "-test.timeout=5m", "-test.paniconexit0")
	if skip := judge.Skip(u.Known); skip != "" {
		args = append(args, "-test.skip="+skip)
	}

	// a file: Wine's own services inherit it, and would keep a pipe open
	output, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = h.env
	cmd.Dir = dir
	cmd.Stdout = output
	cmd.Stderr = output
	start := time.Now()
	if err := netns.Do(h.ns, cmd.Start); err != nil {
		t.Fatal(err)
	}

	runErr := cmd.Wait()
	if _, err := output.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	run, err := judge.Read(t.Context(), u.Path, output)
	if err != nil {
		t.Fatal(err)
	}

	ended := run.Ended
	count := judge.Count(ended)
	t.Logf("%d passed, %d failed, %d skipped in %v", count["pass"], count["fail"], count["skip"],
		time.Since(start).Round(time.Second))
	unknown, stale := judge.Compare(u.Known, ended)
	for _, name := range unknown {
		t.Errorf("%s fails and is not in %s:\n%s", name, s.file, judge.Tail(run.Said[name], 25))
	}

	for _, name := range stale {
		t.Errorf("%s says that %s fails; it does not (%s)", s.file, name, ended[name])
	}

	none := len(ended) == 0 && judge.Skip(u.Known) == ""
	if none || !run.Whole || (runErr != nil && count["fail"] == 0) {
		t.Errorf("the test program, which came to its end: %t: %v\n%s", run.Whole, runErr, judge.Tail(run.Said[""], 40))
	}
	return ended
}

// copyData copies the folders named testdata of a package, and of those beside it that tests read from (../testdata).
func (s suite) copyData(t *testing.T, pkg, to string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", pkg)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GOOS=windows")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("find package %s: %v", pkg, err)
	}

	data := filepath.Join(strings.TrimSpace(string(out)), "testdata")
	if _, err := os.Stat(data); err != nil {
		return
	}

	err = filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(filepath.Dir(data), path)
		if err != nil {
			return err
		}

		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), content, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}
