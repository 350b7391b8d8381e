//go:build wine

package winrun

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/windows/wine/winetest"
	"mullion.dev/mullion/internal/windows/wire/ourprograms"
)

// prefix is a scratch Wine prefix with the test programs in place.
type prefix struct{ *winetest.Prefix }

func newPrefix(t *testing.T) prefix {
	t.Helper()
	p := prefix{winetest.New(t, "mi.dll", "ncrypt.dll", "pdh.dll", "tdh.dll", "wevtapi.dll", "powershell.exe")}
	p.CopyShim(t, "mullion-service.exe", "windows/system32/mullion-service.exe")
	p.CopyShim(t, "powershell.exe", "windows/system32/WindowsPowerShell/v1.0/powershell.exe")
	p.CopyShim(t, "powershell.exe", "windows/system32/pwsh.exe")
	for _, name := range ourprograms.Names() {
		p.CopyShim(t, "wintools.exe", "windows/system32/"+ourprograms.File(name))
	}

	p.CopyIn(t, filepath.Join(p.Install.WindowsDir(), "net.exe"), "windows/system32/net1.exe")
	program := build(t, "./prog", "windows")
	for _, as := range []string{"prog.exe", "bin/sh.exe", "tools/tool.exe"} {
		p.CopyIn(t, program, as)
	}

	p.Write(t, "tools/script.cmd", "@echo batch %1\r\n@exit /b 9\r\n")
	p.Write(t, "text.exe", "this is no program\n")
	return p
}

// build compiles a program of the repository and returns its file.
func build(t *testing.T, pkg, goos string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	cmd := exec.CommandContext(t.Context(), "go", append(append([]string{"build", "-o", out}, flags...), pkg)...)
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=amd64", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, text)
	}
	return out
}

// command returns a Linux command line that runs a Windows program through the launcher.
func (p prefix) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return p.Command(t.Context(), append([]string{winetest.Launcher}, args...)...)
}

// outcome is what a run left.
type outcome struct {
	out, err string
	code     int    // the Linux exit code
	report   string // the report's lines
}

// run runs the launcher with a report to the end.
func (p prefix) run(t *testing.T, args ...string) outcome {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report")
	cmd := p.command(t, append([]string{"--report", report}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	code := exitCode(t, cmd.Run())
	lines, err := os.ReadFile(report)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}

	return outcome{
		out:    newlines(out.String()),
		err:    newlines(errs.String()),
		code:   code,
		report: string(lines),
	}
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

func newlines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
