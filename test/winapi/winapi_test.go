//go:build wine

package winapi

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/windows/wine"
)

// shims are the libraries that the tests of package prog need.
var shims = []string{
	"bcryptprimitives.dll", "mullionhook.dll", "ncrypt.dll", "pdh.dll", "mi.dll", "wevtapi.dll",
	"httpapi.dll", "mullionhttp.exe", "tdh.dll", "cmd.exe",
}

// TestWindowsAPI runs the tests of package prog in a prefix of their own and reports each as a subtest.
func TestWindowsAPI(t *testing.T) {
	program := filepath.Join(t.TempDir(), "winapi.exe")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, "./prog")
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the test program: %v\n%s", err, out)
	}

	prefix := newPrefix(t)
	var out bytes.Buffer
	dialing, stop := context.WithCancel(t.Context())
	defer stop()

	makeLinuxLinks(t, prefix)
	makeShare(t, prefix)
	makeLinuxFiles(t, prefix)
	makePFX(t, prefix)
	mountDisks(t, prefix)
	victim := makeOutwardLinks(t, prefix)
	echoed := linuxPeer(dialing, t, prefix)
	if err := os.Rename(program, filepath.Join(prefix.dir, "drive_c/winapi.exe")); err != nil {
		t.Fatal(err)
	}

	run := prefix.command(t, `C:\winapi.exe`, "-test.v", "-test.timeout=300s")
	run.Env = append(run.Env, "WINAPI_LINUX_PEER=1")
	run.Dir = filepath.Join(prefix.dir, "drive_c") // a folder that has a Windows name
	run.Stdout, run.Stderr = &out, &out
	err := run.Run()
	stop() // who has not been listened to by now never will be
	results := parseResults(&out)
	if len(results) == 0 {
		t.Fatalf("no test ran: %v\n%s", err, out.String())
	}

	failed := false
	for _, r := range results {
		t.Run(r.name, func(t *testing.T) {
			switch r.verdict {
			case "PASS":
			case "SKIP":
				t.Skip(r.output)
			default:
				failed = true
				t.Error(r.output)
			}
		})
	}
	if err != nil && !failed {
		t.Errorf("the test program: %v\n%s", err, tail(out.String(), 60))
	}

	t.Run("linux_dials_windows_socket", func(t *testing.T) {
		if got := <-echoed; got != "from linux" {
			t.Errorf("the Windows program's answer: got %q, want %q", got, "from linux")
		}
	})
	t.Run("modes_of_lists", func(t *testing.T) { checkModes(t, prefix) })
	t.Run("files_out_of_drives", func(t *testing.T) { checkVictim(t, victim) })
	t.Run("signatures_on_linux", func(t *testing.T) { checkPFX(t, prefix) })
	t.Run("links_on_linux", func(t *testing.T) { checkLinuxSide(t, prefix) })
}

// prefix is a scratch Wine prefix with the shims in place.
type prefix struct {
	dir  string
	wine wine.Install
}

func newPrefix(t *testing.T) prefix {
	t.Helper()
	found, err := wine.Find("")
	if err != nil {
		t.Fatal(err)
	}

	p := prefix{dir: filepath.Join(t.TempDir(), "prefix"), wine: found}
	built, err := filepath.Abs("../../bin/windows/shim")
	if err != nil {
		t.Fatal(err)
	}

	var contents [][]byte
	for _, name := range shims {
		content, err := os.ReadFile(filepath.Join(built, name))
		if err != nil {
			t.Fatalf("the shims are not built: run `make shims` first: %v", err)
		}
		contents = append(contents, content)
	}

	if out, err := p.command(t, "wineboot", "-i").CombinedOutput(); err != nil {
		t.Fatalf("make a Wine prefix: %v\n%s", err, out)
	}
	stop := func() {
		stop := exec.Command(p.wine.Server, "-k")
		stop.Env = p.env()
		_ = stop.Run() // it may have ended by itself
	}
	t.Cleanup(stop)

	// As on a host, windows are drawn nowhere: without a driver Wine's console hosts end at once. A desktop that is
	// there would keep the driver that it has.
	if out, err := p.command(t, "reg", "add", `HKCU\Software\Wine\Drivers`, "/v", "Graphics", "/d", "null",
		"/f").CombinedOutput(); err != nil {
		t.Fatalf("choose the driver of windows: %v\n%s", err, out)
	}
	stop()

	for i, name := range shims {
		if err := os.WriteFile(filepath.Join(p.dir, "drive_c/windows/system32", name), contents[i], 0o755); err != nil {
			t.Fatal(err)
		}
	}

	// cmd1.exe is Wine's, for what a program in C needs of its parent.
	content, err := os.ReadFile(filepath.Join(found.WindowsDir(), "cmd.exe"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "drive_c/windows/system32/cmd1.exe"), content, 0o755); err != nil {
		t.Fatal(err)
	}

	return p
}

// overrides says which libraries and programs are the shims.
const overrides = "WINEDLLOVERRIDES=bcryptprimitives,ncrypt,tdh,wevtapi=n,b;httpapi,pdh,mi,cmd.exe=n;mscoree,mshtml="

func (p prefix) env() []string {
	return append(os.Environ(), "WINEPREFIX="+p.dir, "WINEDEBUG=-all", overrides, "WINESERVER="+p.wine.Server)
}

func (p prefix) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.wine.Loader, args...)
	cmd.Env = p.env()
	return cmd
}

// linuxPeer serves linux.sock for the test program, dials its windows.sock, and tells what it answered there.
func linuxPeer(ctx context.Context, t *testing.T, p prefix) <-chan string {
	t.Helper()
	// By way of a short link: the address of a socket has room for 107 bytes.
	short, err := os.MkdirTemp("/tmp", "w")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = os.RemoveAll(short) })
	if err := os.Symlink(filepath.Join(p.dir, "drive_c"), filepath.Join(short, "c")); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(short, "c/linux.sock"))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(c, c)
			_ = c.Close()
		}
	}()

	echoed := make(chan string, 1)
	go func() { echoed <- dialWindows(ctx, filepath.Join(short, "c/windows.sock")) }()
	return echoed
}

// makeLinuxLinks leaves absolute Linux links for the test program: one into drive C:, one out of all drives. A Windows
// host has no drive Z:.
func makeLinuxLinks(t *testing.T, p prefix) {
	t.Helper()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("outside"), 0o644); err != nil {
		t.Fatal(err)
	}

	for name, target := range map[string]string{
		"inward":       filepath.Join(p.dir, "drive_c/windows/win.ini"),
		"outward-file": outside,
	} {
		if err := os.Symlink(target, filepath.Join(p.dir, "drive_c", name)); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Remove(filepath.Join(p.dir, "dosdevices/z:")); err != nil {
		t.Fatal(err)
	}
}

// makeShare makes what is \\server\share to the test program, as a host has its SMB shares.
func makeShare(t *testing.T, p prefix) {
	t.Helper()
	unc := filepath.Join(t.TempDir(), "unc")
	if err := os.MkdirAll(filepath.Join(unc, "server/share"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(unc, "server/share/file"), []byte("in the share"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(unc, filepath.Join(p.dir, "dosdevices/unc")); err != nil {
		t.Fatal(err)
	}
}

// dialWindows dials until somebody listens and returns what comes back, or what went wrong.
func dialWindows(ctx context.Context, path string) string {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()

	for {
		c, err := net.Dial("unix", path)
		if err == nil {
			defer c.Close()
			if _, err := c.Write([]byte("from linux")); err != nil {
				return err.Error()
			}
			if err := c.(*net.UnixConn).CloseWrite(); err != nil {
				return err.Error()
			}

			got, err := io.ReadAll(c)
			if err != nil {
				return err.Error()
			}
			return string(got)
		}

		select {
		case <-ctx.Done():
			return "nobody listened: " + ctx.Err().Error()
		case <-tick.C:
		}
	}
}

// result is what the test program said of one of its tests.
type result struct {
	name, verdict, output string
}

// parseResults reads the output of `-test.v`. A test that has begun and has no verdict counts as failed.
func parseResults(out *bytes.Buffer) []result {
	verdict := regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+)`)
	begun := regexp.MustCompile(`^=== RUN\s+(\S+)`)
	var results []result
	index := map[string]int{}
	current := -1
	scanner := bufio.NewScanner(bytes.NewReader(out.Bytes()))
	for scanner.Scan() {
		line := strings.TrimRight(scanner.Text(), "\r")
		switch {
		case begun.MatchString(line):
			name := begun.FindStringSubmatch(line)[1]
			index[name] = len(results)
			current = len(results)
			results = append(results, result{name: name})

		case verdict.MatchString(line):
			m := verdict.FindStringSubmatch(line)
			if i, ok := index[m[2]]; ok {
				results[i].verdict = m[1]
			}
		case current >= 0:
			results[current].output += line + "\n"
		}
	}

	return results
}

func tail(s string, lines int) string {
	all := strings.Split(s, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// checkLinuxSide looks at what TestLeavesLinks of the program left behind: Linux programs must find the same files.
func checkLinuxSide(t *testing.T, p prefix) {
	t.Helper()
	left := filepath.Join(p.dir, "drive_c/left")
	for _, name := range []string{"relative", "absolute", "..data/key", "key"} {
		got, err := os.ReadFile(filepath.Join(left, name))
		if err != nil {
			t.Error(err)
		} else if string(got) != "hello" {
			t.Errorf("content of %s: got %q, want hello", name, got)
		}
	}

	if got, err := os.Readlink(filepath.Join(left, "relative")); err != nil || got != "folder/file" {
		t.Errorf("text of the relative link: got %q, %v, want folder/file", got, err)
	}
	moved := p.dir + "-moved"
	if err := os.Rename(p.dir, moved); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Rename(moved, p.dir) }()
	if got, err := os.ReadFile(filepath.Join(moved, "drive_c/left/absolute")); err != nil || string(got) != "hello" {
		t.Errorf("the absolute link in a prefix that has moved: got %q, %v", got, err)
	}
}
