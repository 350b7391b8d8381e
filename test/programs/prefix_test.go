//go:build wine

package programs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"mullion.dev/mullion/internal/windows/wine"
)

const launcher = `C:\windows\system32\mullion-run.exe`

// prefix is a scratch Wine prefix with the shims in place, which calls itself Windows Server 2022.
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
	boot.Env = append(os.Environ(), "WINEPREFIX="+p.dir, "WINEDEBUG=-all", "DISPLAY=",
		"WINEDLLOVERRIDES=mscoree,mshtml,winemenubuilder.exe=d")
	if out, err := boot.CombinedOutput(); err != nil {
		t.Fatalf("make a Wine prefix: %v\n%s", err, out)
	}
	p.stop()
	t.Cleanup(p.stop)
	for _, name := range []string{"mullion-run.exe", "mullionhook.dll", "bcryptprimitives.dll", "mi.dll", "ncrypt.dll", "pdh.dll"} {
		p.copyIn(t, filepath.Join("../../bin/windows/shim", name), "windows/system32/"+name)
	}
	keys := []wine.Key{{
		Path: `Software\Microsoft\Windows NT\CurrentVersion`,
		Values: []wine.Value{
			wine.DWORD("CurrentMajorVersionNumber", 10), wine.DWORD("CurrentMinorVersionNumber", 0),
			wine.SZ("CurrentBuildNumber", "20348"), wine.SZ("CurrentBuild", "20348"), wine.SZ("CurrentVersion", "10.0"),
			wine.SZ("ProductName", "Windows Server 2022 Datacenter"),
		},
	}}
	if err := wine.EditHive(filepath.Join(p.dir, "system.reg"), keys); err != nil {
		t.Fatal(err)
	}
	return p
}

// path is the Linux name of a file of drive C:.
func (p prefix) path(name string) string { return filepath.Join(p.dir, "drive_c", name) }

// copyIn copies a file of this machine to drive C:.
func (p prefix) copyIn(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatalf("copy %s (is it built? `make shims`): %v", from, err)
	}
	if err := os.WriteFile(p.path(to), content, 0o755); err != nil {
		t.Fatal(err)
	}
}

// stop ends all that runs in the prefix and waits for its end.
func (p prefix) stop() {
	for _, arg := range []string{"-k", "-w"} {
		cmd := exec.Command(p.install.Server, arg)
		cmd.Env = p.env()
		_ = cmd.Run() // nothing may run
	}
}

func (p prefix) env() []string {
	return []string{
		"WINEPREFIX=" + p.dir, "WINELOADER=" + p.install.Loader, "WINESERVER=" + p.install.Server, "WINEDEBUG=-all",
		"LANG=C.UTF-8", "PATH=/usr/bin:/bin", "HOME=" + p.dir,
		"WINEDLLOVERRIDES=wineboot.exe,winemenubuilder.exe,explorer.exe,mscoree,mshtml=d;bcryptprimitives,mi,ncrypt,pdh=n",
	}
}

func (p prefix) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.install.Loader, args...)
	cmd.Env = p.env()
	cmd.Dir = p.path("")
	cmd.WaitDelay = 10 * time.Second // children may keep the output open
	return cmd
}

// keep starts the prefix's wineserver, which then stays until stop: else each program would start one.
func (p prefix) keep(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.install.Server, "-p")
	cmd.Env = p.env()
	if err := cmd.Run(); err != nil { // without pipes, which it would keep open
		t.Fatalf("start a wineserver: %v", err)
	}
}
