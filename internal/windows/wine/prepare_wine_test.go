//go:build wine

package wine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/windows/winver"
)

// prepared makes a system layer of all builds for one test.
func prepared(t *testing.T) *System {
	t.Helper()
	dir := t.TempDir()
	servers := func() []string {
		left, err := filepath.Glob("/tmp/wine-*")
		if err != nil {
			t.Fatal(err)
		}
		return left
	}

	before, start := servers(), time.Now()
	s, err := Prepare(t.Context(), Options{Dir: dir, Builds: winver.All()})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("prepared in %v", time.Since(start).Round(time.Millisecond))
	if diff := cmp.Diff(before, servers()); diff != "" {
		t.Errorf("folders of wineservers outside of their runtime folder (-before +after):\n%s", diff)
	}

	return s
}

// overlaid makes a fresh overlay of a build, and returns what runs Windows programs in it and returns their output.
func overlaid(t *testing.T, s *System, b winver.Build) func(args ...string) string {
	t.Helper()
	layers, err := s.Layers(b)
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	for _, d := range []string{"upper", "work", "prefix"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	prefix := filepath.Join(dir, "prefix")
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", strings.Join(layers, ":"), filepath.Join(dir, "upper"),
		filepath.Join(dir, "work"))
	if err := unix.Mount("overlay", prefix, "overlay", 0, options); err != nil {
		t.Fatal(err)
	}

	run := func(cmd *exec.Cmd) error {
		cmd.Env = s.HostEnv(prefix)
		if err := startWithRuntimeDir(cmd, dir); err != nil {
			return err
		}
		return cmd.Wait()
	}

	t.Cleanup(func() {
		for _, flag := range []string{"-k", "-w"} {
			// It fails when the server has ended by itself.
			_ = run(exec.CommandContext(context.WithoutCancel(t.Context()), s.ServerPath(), flag))
		}
		if err := unix.Unmount(prefix, 0); err != nil {
			t.Error(err)
		}
	})

	return func(args ...string) string {
		t.Helper()
		argv := append(s.LoaderArgv(), args...)
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Dir = Drive(prefix)
		file := filepath.Join(dir, "out") // no pipe, which Wine's services would hold on to
		out, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}

		defer out.Close()
		cmd.Stdout, cmd.Stderr = out, out

		start := time.Now()
		err = run(cmd)
		t.Logf("%v in %v", args, time.Since(start).Round(time.Millisecond))
		text, readErr := os.ReadFile(file)
		if err := errors.Join(err, readErr); err != nil {
			t.Fatalf("%v: %v: %s", args, err, text)
		}

		return string(text)
	}
}

// TestFoldersOfAllUsers starts programs by the loader while there is a key Software\Wow6432Node: it does not hide where
// the folders of all users are.
func TestFoldersOfAllUsers(t *testing.T) {
	run := overlaid(t, prepared(t), winver.All()[0])
	const want = `[C:\ProgramData] [C:\ProgramData] [C:\users\Public]`
	for _, before := range []string{"ver", `reg add HKLM\Software\Wow6432Node\Trial /f`} {
		run("cmd", "/c", before)
		if got := run("cmd", "/c", "echo [%ProgramData%] [%ALLUSERSPROFILE%] [%PUBLIC%]"); strings.TrimSpace(got) != want {
			t.Errorf("after %s: %q, want %q", before, got, want)
		}
	}
}

func TestVersionOfEachBuild(t *testing.T) {
	s := prepared(t)
	for _, b := range winver.All() {
		t.Run(b.Name, func(t *testing.T) {
			run := overlaid(t, s, b) // one prefix, which boots once
			out := run("cmd", "/c",
				"ver&set&reg query HKLM\\System\\CurrentControlSet\\Control\\ProductOptions&cd /d C:\\windows&cd") +
				run("reg", "query", `HKLM\`+currentVersion) +
				run("reg", "query", `HKLM\`+controlKey, "/v", "ServicesPipeTimeout")

			for _, want := range []string{
				fmt.Sprintf("Microsoft Windows 10.0.%d", b.Version.Build), b.ProductName,
				fmt.Sprintf("UBR    REG_DWORD    0x%x", b.Version.Revision),
				"ServicesPipeTimeout    REG_SZ    30000", "ServerNT", `C:\windows`, "NUMBER_OF_PROCESSORS",
			} {
				if !strings.Contains(out, want) {
					t.Errorf("output lacks %q:\n%s", want, out)
				}
			}

			for _, wrong := range []string{"Z:", "scratch"} {
				if strings.Contains(out, wrong) {
					t.Errorf("output has %q of the machine that made the layer:\n%s", wrong, out)
				}
			}
		})
	}
}

func TestPrepareAgain(t *testing.T) {
	s := prepared(t)
	start := time.Now()
	again, err := Prepare(t.Context(), Options{Dir: filepath.Dir(s.Dir), Builds: winver.All()})
	if err != nil {
		t.Fatal(err)
	}
	if *again != *s {
		t.Errorf("second Prepare gave %+v, first %+v", again, s)
	}

	t.Logf("second Prepare in %v", time.Since(start).Round(time.Microsecond))
	opened, err := Open(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if *opened != *s {
		t.Errorf("Open gave %+v, Prepare %+v", opened, s)
	}
}

func TestBaseLayerIsSelfContained(t *testing.T) {
	s := prepared(t)
	if _, err := os.Stat(filepath.Join(s.Base(), "wineserver")); err == nil {
		t.Error("the layer carries a file of a wineserver that ran")
	}

	err := filepath.WalkDir(s.Base(), func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}

		if info.Mode()&os.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			if filepath.IsAbs(target) {
				t.Errorf("%s links to %s", path, target)
			}
			return nil
		}

		if want := os.FileMode(0o444); info.Mode()&want != want {
			t.Errorf("%s: mode %v is not readable by all", path, info.Mode())
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	// The libraries work without the machine's: Wine starts with the layer as root.
	if err := os.MkdirAll(filepath.Join(s.Base(), s.Install.LibDir), 0o755); err != nil {
		t.Fatal(err)
	}

	target := filepath.Join(s.Base(), s.Install.LibDir)
	if err := unix.Mount(s.Install.LibDir, target, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(target, 0); err != nil {
			t.Error(err)
		}
	}()

	procfs := filepath.Join(s.Base(), "proc") // the loader finds itself through /proc/self/exe
	if err := unix.Mount("/proc", procfs, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(procfs, 0); err != nil {
			t.Error(err)
		}
	}()

	cmd := exec.CommandContext(t.Context(), s.Install.Loader, "--version")
	cmd.SysProcAttr = &unix.SysProcAttr{Chroot: s.Base()}
	cmd.Env = slices.DeleteFunc(s.ContainerEnv(), func(e string) bool { return e == "WINELOADERNOEXEC=1" })
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "wine-") {
		t.Errorf("wine --version with the layer as root: %v: %s", err, out)
	}
}
