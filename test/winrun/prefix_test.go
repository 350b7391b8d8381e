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

	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/wintools"
)

const (
	launcher  = `C:\windows\system32\mullion-run.exe`
	ntVersion = `Software\Microsoft\Windows NT\CurrentVersion`
)

// prefix is a scratch Wine prefix with the shims and the test programs in place.
type prefix struct {
	dir     string
	install wine.Install
}

func newPrefix(t *testing.T) prefix {
	t.Helper()
	install, err := wine.Find()
	if err != nil {
		t.Fatal(err)
	}
	p := prefix{dir: filepath.Join(t.TempDir(), "prefix"), install: install}
	boot := exec.CommandContext(t.Context(), install.Loader, "wineboot", "-i")
	boot.Env = append(os.Environ(), "WINEPREFIX="+p.dir, "WINEDEBUG=-all",
		"WINEDLLOVERRIDES=mscoree,mshtml,winemenubuilder.exe=d", "DISPLAY=")
	if out, err := boot.CombinedOutput(); err != nil {
		t.Fatalf("make a Wine prefix: %v\n%s", err, out)
	}
	p.server(t, "-k")
	for _, name := range []string{
		"mullion-run.exe", "mullionhook.dll", "bcryptprimitives.dll", "mi.dll", "ncrypt.dll", "pdh.dll",
		"powershell.exe",
	} {
		p.copyIn(t, filepath.Join("../../bin/windows/shim", name), "windows/system32/"+name)
	}
	p.copyIn(t, "../../bin/windows/shim/powershell.exe", "windows/system32/WindowsPowerShell/v1.0/powershell.exe")
	p.copyIn(t, "../../bin/windows/shim/powershell.exe", "windows/system32/pwsh.exe")
	for _, name := range wintools.Names() {
		p.copyIn(t, "../../bin/windows/shim/wintools.exe", "windows/system32/"+wintools.File(name))
	}
	p.copyIn(t, filepath.Join(install.WindowsDir(), "net.exe"), "windows/system32/net1.exe")
	program := build(t, "./prog", "windows")
	for _, as := range []string{"prog.exe", "bin/sh.exe", "tools/tool.exe"} {
		p.copyIn(t, program, as)
	}
	p.write(t, "tools/script.cmd", "@echo batch %1\r\n@exit /b 9\r\n")
	p.write(t, "text.exe", "this is no program\n")
	keys := []wine.Key{
		{
			Path: ntVersion,
			Values: []wine.Value{
				wine.DWORD("CurrentMajorVersionNumber", 10), wine.DWORD("CurrentMinorVersionNumber", 0),
				wine.DWORD("UBR", 2565),
				wine.SZ("CurrentBuildNumber", "20348"), wine.SZ("CurrentBuild", "20348"),
				wine.SZ("CurrentVersion", "10.0"), wine.SZ("ProductName", "Windows Server 2022 Datacenter"),
			},
		},
	}
	if err := wine.EditHive(filepath.Join(p.dir, "system.reg"), keys); err != nil {
		t.Fatal(err)
	}
	return p
}

// build compiles a program of the repository and returns its file.
func build(t *testing.T, pkg, goos string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=amd64", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, text)
	}
	return out
}

// copyIn copies a file of this machine into the prefix's C: drive.
func (p prefix) copyIn(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatalf("the shims are not built: run `make shims` first: %v", err)
	}
	p.write(t, to, string(content))
}

func (p prefix) write(t *testing.T, name, content string) {
	t.Helper()
	file := filepath.Join(p.dir, "drive_c", name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

// server runs the prefix's wineserver with an argument: -w waits for its end, -k brings it about.
func (p prefix) server(t *testing.T, arg string) {
	t.Helper()
	cmd := exec.Command(p.install.Server, arg)
	cmd.Env = p.env()
	_ = cmd.Run() // there may be none
}

func (p prefix) env() []string {
	tools := ""
	for _, name := range wintools.Names() {
		tools += "," + wintools.File(name)
	}
	return []string{
		"WINEPREFIX=" + p.dir, "WINELOADER=" + p.install.Loader, "WINESERVER=" + p.install.Server, "WINEDEBUG=-all",
		"LANG=C.UTF-8", "PATH=/usr/bin:/bin",
		"HOME=" + p.dir, "WINEDLLOVERRIDES=wineboot.exe,winemenubuilder.exe,explorer.exe,mscoree,mshtml=d;bcryptprimitives,mi,ncrypt,pdh,powershell.exe,pwsh.exe" + tools + "=n",
	}
}

// command is a Linux command line that runs a Windows program through the launcher.
func (p prefix) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.install.Loader, append([]string{launcher}, args...)...)
	cmd.Env = p.env()
	cmd.Dir = filepath.Join(p.dir, "drive_c")
	return cmd
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
	return outcome{out: newlines(out.String()), err: newlines(errs.String()), code: code, report: string(lines)}
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
