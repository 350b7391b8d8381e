// Package winetest makes scratch Wine prefixes for tests. They have Mullion's shims and call themselves Windows Server
// 2022. It needs Wine, and the shims that `make shims` builds.
package winetest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/windows/wine"
)

// Launcher is the program that containers' programs are started by.
const Launcher = `C:\windows\system32\mullion-run.exe`

// Prefix is a scratch Wine prefix, gone when its test ends.
type Prefix struct {
	t       *testing.T
	Dir     string
	Install wine.Install
	native  []string // the modules that Wine must take from drive C:
}

// New makes a prefix with the launcher, the hooks, cmd.exe, and the shims named beside them in C:\windows\system32. A
// shim is a file of bin/windows/shim, for example "pdh.dll".
func New(t *testing.T, shims ...string) *Prefix {
	t.Helper()
	install, err := wine.Find("")
	if err != nil {
		t.Fatal(err)
	}

	p := &Prefix{
		t:       t,
		Dir:     filepath.Join(t.TempDir(), "prefix"),
		Install: install,
	}

	boot := exec.CommandContext(t.Context(), install.Loader, "wineboot", "-i")
	boot.Env = append(os.Environ(), //nolint:forbidigo // a test, which has no cli.Env
		"WINEPREFIX="+p.Dir, "WINEDEBUG=-all", "DISPLAY=",
		"WINEDLLOVERRIDES=mscoree,mshtml,winemenubuilder.exe=d")
	if out, err := boot.CombinedOutput(); err != nil {
		t.Fatalf("make a Wine prefix: %v\n%s", err, out)
	}

	p.Stop()
	t.Cleanup(p.Stop)
	for _, name := range append([]string{"mullion-run.exe", "mullionhook.dll", "bcryptprimitives.dll", "cmd.exe"}, shims...) {
		p.CopyShim(t, name, "windows/system32/"+name)
	}

	keys := []wine.Key{wine.ServiceTimeout(30 * time.Second), {
		Path: `Software\Microsoft\Windows NT\CurrentVersion`,
		Values: []wine.Value{
			wine.DWORD("CurrentMajorVersionNumber", 10), wine.DWORD("CurrentMinorVersionNumber", 0),
			wine.DWORD("UBR", 2565),
			wine.SZ("CurrentBuildNumber", "20348"), wine.SZ("CurrentBuild", "20348"), wine.SZ("CurrentVersion", "10.0"),
			wine.SZ("ProductName", "Windows Server 2022 Datacenter"),
		},
	}}

	hive := filepath.Join(p.Dir, "system.reg")
	text, err := os.ReadFile(hive)
	if err != nil {
		t.Fatal(err)
	}
	services, err := wine.ServiceKeys(string(text)) // as in containers
	if err != nil {
		t.Fatal(err)
	}
	if err := wine.EditHive(hive, append(keys, services...)); err != nil {
		t.Fatal(err)
	}

	return p
}

// Path returns the Linux name of a file of drive C:.
func (p *Prefix) Path(name string) string { return filepath.Join(p.Dir, "drive_c", name) }

// CopyShim copies a file of bin/windows/shim to drive C:. Wine takes a module of its name from there.
func (p *Prefix) CopyShim(t *testing.T, name, to string) {
	t.Helper()
	module := strings.TrimSuffix(filepath.Base(to), ".dll")
	if !strings.HasPrefix(module, "mullion") && !slices.Contains(p.native, module) {
		p.native = append(p.native, module)
	}
	p.CopyIn(t, filepath.Join(root(t), "bin/windows/shim", name), to)
}

// CopyIn copies a file of this machine to drive C:.
func (p *Prefix) CopyIn(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatalf("copy to drive C: (is it built? `make shims`): %v", err)
	}
	p.Write(t, to, string(content))
}

// Write writes a file of drive C:.
func (p *Prefix) Write(t *testing.T, name, content string) {
	t.Helper()
	file := p.Path(name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

// longest is the most time for a program of a test. One that hangs is then the failure of its own test, and is named.
const longest = 3 * time.Minute

// Stop ends all that runs in the prefix and waits for its end.
func (p *Prefix) Stop() {
	ctx, done := context.WithTimeout(context.WithoutCancel(p.t.Context()), longest) // which is over when it cleans up
	defer done()
	for _, arg := range []string{"-k", "-w"} {
		cmd := exec.CommandContext(ctx, p.Install.Server, arg)
		cmd.Env = p.Env()
		_ = cmd.Run() // nothing may run
		if ctx.Err() != nil {
			p.t.Errorf("wineserver %s of %s does not end", arg, p.Dir)
		}
	}
}

// Keep starts the prefix's wineserver, which then stays until Stop: else each program would start one.
func (p *Prefix) Keep(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.Install.Server, "-p")
	cmd.Env = p.Env()
	if err := cmd.Run(); err != nil { // without pipes, which it would keep open
		t.Fatalf("start a wineserver: %v", err)
	}
}

// Env returns the environment of the prefix's programs, as containers have it.
func (p *Prefix) Env() []string {
	return []string{
		"WINEPREFIX=" + p.Dir, "WINELOADER=" + p.Install.Loader, "WINESERVER=" + p.Install.Server, "WINEDEBUG=-all",
		"LANG=C.UTF-8", "PATH=/usr/bin:/bin", "HOME=" + p.Dir,
		"WINEDLLOVERRIDES=wineboot.exe,winemenubuilder.exe,explorer.exe,mscoree,mshtml=d;" +
			strings.Join(p.native, ",") + "=n",
	}
}

// Command returns a command line of Linux that runs a program of Windows on drive C:. It is killed when it takes too
// long.
func (p *Prefix) Command(ctx context.Context, args ...string) *exec.Cmd {
	ctx, done := context.WithTimeout(ctx, longest)
	p.t.Cleanup(done)
	cmd := exec.CommandContext(ctx, p.Install.Loader, args...)
	cmd.Env = p.Env()
	cmd.Dir = p.Path("")
	cmd.WaitDelay = 10 * time.Second // children may keep the output open
	return cmd
}

// root returns the folder of the repository.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, e := os.Stat(filepath.Join(dir, "go.mod")); e == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("the tests run outside of the repository: %v", err)
	return ""
}
