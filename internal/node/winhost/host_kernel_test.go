//go:build kernel

package winhost_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
)

// initVariable makes the test program a host's first process.
const initVariable = "MULLION_TEST_HOST"

func TestMain(m *testing.M) {
	if path := os.Getenv(initVariable); path != "" {
		h, err := winhost.Load(path)
		if err == nil {
			err = winhost.Init(h)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// up starts a host for one test, with the machine's own programs in place of Windows ones, and checks at the end that
// nothing of it is left.
func up(t *testing.T, binds ...winhost.Bind) (winhost.Host, *proc.Process) {
	t.Helper()
	return upIn(t, t.TempDir(), func(h *winhost.Host) { h.Binds = binds })
}

// upIn is up with a folder of state and a change of the host.
func upIn(t *testing.T, dir string, change func(*winhost.Host)) (winhost.Host, *proc.Process) {
	t.Helper()
	pin := filepath.Join(dir, "netns")
	h := winhost.Host{
		Name:      "win-1",
		Netns:     pin,
		StateFile: filepath.Join(dir, "state.json"),
		Root:      filepath.Join(dir, "root"),
		Folders:   []string{filepath.Join(dir, "kept")},
		Env:       []string{"PATH=/usr/bin:/bin", "A=b"},
		Dir:       "/usr",
	}
	change(&h)
	if err := os.MkdirAll(filepath.Join(dir, "kept", "inside"), 0o755); err != nil {
		t.Fatal(err)
	}

	if _, err := netns.Ensure(pin); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "host.json")
	if err := h.Save(file); err != nil {
		t.Fatal(err)
	}

	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	p := proc.New(proc.Spec{
		ID:           component.Sole("host"),
		Path:         exe,
		Env:          []string{initVariable + "=" + file},
		Netns:        pin,
		Starter:      h.StartInit,
		Ready:        h.Ready,
		LogPath:      filepath.Join(dir, "log"),
		ReadyTimeout: 10 * time.Second,
		Marker:       dir,
		Restart:      proc.Restart{Min: 10 * time.Millisecond},
	})

	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := p.Stop(ctx); err != nil {
			t.Error(err)
		}
		if err := netns.Remove(pin); err != nil {
			t.Error(err)
		}

		if h.Shared != "" {
			if err := syscall.Unmount(h.Shared, 0); err != nil {
				t.Error(err)
			}
		}
		if left, err := proc.Labelled(dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}

		for line := range strings.Lines(mounts(t)) {
			if strings.Contains(line, dir) {
				t.Errorf("mount left behind: %s", line)
			}
		}
	})

	return h, p
}

func mounts(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// output returns what a shell on the host prints.
func output(t *testing.T, h winhost.Host, script string) string {
	t.Helper()
	out, err := h.Output(t.Context(), nil, nil, "/bin/sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestHostIsolation(t *testing.T) {
	own := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(own, []byte("1.2.3.4 host-own\n"), 0o644); err != nil {
		t.Fatal(err)
	}

	h, _ := up(t, winhost.Bind{Source: own, Target: "/etc/hosts"})
	self := filepath.Base(os.Args[0])
	for _, tt := range []struct{ name, script, want string }{
		{"host name", "uname -n", "win-1"},
		{"own hosts file", "cat /etc/hosts", "1.2.3.4 host-own"},
		{"only loopback", "cat /proc/net/dev | grep -c :", "1"},
		{"first process is ours", "cat /proc/1/comm", self[:min(len(self), 15)]}, // all that the kernel keeps of a name
		{"umask", "umask", "0000"},
		{"working folder", "pwd", "/usr"},
		{"environment", "echo $A$MULLION_TEST_HOST", "b"},
		{"own tmp", "ls -A /tmp | grep -vc ^Test", "1"}, // the ready file, beside the way to the kept folder
		{"kept folder", "ls " + h.Folders[0], "inside"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := output(t, h, tt.script); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.script, got, tt.want)
			}
		})
	}

	name, err := os.Hostname()
	if err != nil || name == "win-1" {
		t.Errorf("the machine's name is %q, %v", name, err)
	}
	if data, err := os.ReadFile("/etc/hosts"); err != nil || strings.Contains(string(data), "host-own") {
		t.Errorf("the machine's hosts file is %q, %v", data, err)
	}
}

// TestHostSharesWithTheMachine mounts something in the shared folder while the host is up, and has both sides write to
// the host's /tmp.
func TestHostSharesWithTheMachine(t *testing.T) {
	dir := t.TempDir()
	stale := filepath.Join(dir, "tmp", "stale")
	if err := os.MkdirAll(stale, 0o755); err != nil {
		t.Fatal(err)
	}
	h, p := upIn(t, dir, func(h *winhost.Host) {
		h.Tmp, h.Shared = filepath.Join(dir, "tmp"),
			filepath.Join(dir, "shared")
	})

	if _, err := os.Stat(stale); err == nil {
		t.Error("the host's /tmp has a file from before its start")
	}
	if err := os.WriteFile(filepath.Join(h.Tmp, "from-machine"), []byte("m"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := output(t, h, "cat /tmp/from-machine; echo h > /tmp/from-host"); got != "m" {
		t.Errorf("the host reads %q", got)
	}

	if data, err := os.ReadFile(filepath.Join(h.Tmp, "from-host")); err != nil || string(data) != "h\n" {
		t.Errorf("the machine reads %q, %v", data, err)
	}
	point := filepath.Join(h.Shared, "point")
	if err := os.Mkdir(point, 0o755); err != nil {
		t.Fatal(err)
	}

	mount := func() {
		t.Helper()
		if err := syscall.Mount("tmpfs", point, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(point, "file"), []byte("later"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mount()
	if got := output(t, h, "cat "+point+"/file"); got != "later" {
		t.Errorf("the host sees %q in a folder mounted later", got)
	}

	if err := syscall.Unmount(point, syscall.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	if got := output(t, h, "ls "+point+" | wc -l"); got != "0" {
		t.Error("the host still sees what has been unmounted")
	}

	// And in its next life.
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	mount()
	defer func() { _ = syscall.Unmount(point, syscall.MNT_DETACH) }()

	if got := output(t, h, "cat "+point+"/file"); got != "later" {
		t.Errorf("the host started again sees %q", got)
	}
}

func TestHostPassesThrough(t *testing.T) {
	h, _ := up(t)
	out, err := h.Output(t.Context(), []byte("some input"), []string{"CNI_COMMAND=ADD"}, "/bin/sh", "-c",
		"cat; echo $CNI_COMMAND")
	if err != nil || string(out) != "some inputADD\n" {
		t.Errorf("got %q, %v", out, err)
	}

	_, err = h.Output(t.Context(), nil, nil, "/bin/sh", "-c", "echo broken >&2; exit 7")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 || !strings.Contains(err.Error(), "broken") {
		t.Errorf("err = %v, want exit status 7 with the standard error", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()

	start := time.Now()
	if _, err := h.Output(ctx, nil, nil, "/bin/sleep", "60"); err == nil || time.Since(start) > 10*time.Second {
		t.Errorf("cancelled program: err = %v after %v", err, time.Since(start))
	}
}

// TestHostHasWhatTheMachineLacks shows the host a file in a folder that the machine does not have, and
// /etc/resolv.conf, which on the machine may be a link that leads nowhere.
func TestHostHasWhatTheMachineLacks(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "source")
	if err := os.WriteFile(source, []byte("127.0.0.1 localhost\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const missing = "/etc/mullion-test/a/file"
	h, _ := upIn(t, dir, func(h *winhost.Host) {
		h.Binds = []winhost.Bind{{Source: source, Target: missing}, {Source: source, Target: "/etc/resolv.conf"}}
	})

	out := output(t, h, "cat /etc/resolv.conf "+missing)
	if want := "127.0.0.1 localhost\n127.0.0.1 localhost"; out != want {
		t.Errorf("the host reads %q, want %q", out, want)
	}
	if _, err := os.Lstat(filepath.Dir(missing)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the machine has the host's file: %v", err)
	}
}

// TestHostSeesLittleOfTheMachine has a root program of the host look for what it could harm.
func TestHostSeesLittleOfTheMachine(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("machine\n"), 0o666); err != nil {
		t.Fatal(err)
	}

	h, _ := upIn(t, dir, func(h *winhost.Host) { h.Shared = filepath.Join(dir, "shared") })
	kept := h.Folders[0]
	if err := os.Symlink(victim, filepath.Join(kept, "evil")); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct{ name, script, want string }{
		{"its folders", "echo new > kept/file && cat kept/file", "new"},
		{"a link to the machine's files", "cat kept/evil 2>&- || echo no; echo harm 2>&- > kept/evil || true", "no"},
		{"the machine's homes", "ls -d /root /home /boot /opt /srv 2>&- || true", ""},
		{"its root", "touch /file /etc/file /usr/file 2>&- || echo no", "no"},
		{"the machine's secrets", "cat /etc/shadow 2>&- || echo no", "no"},
		{"the machine's processes", "ls -d /proc/[0-9]* | wc -l | awk '{print $1 < 8}'", "1"},
		{"settings of the kernel", "echo 1 2>&- > /proc/sys/kernel/panic || echo no", "no"},
		{"settings of the kernel's devices", "touch /sys/kernel/file 2>&- || echo no", "no"},
		{"disks", "find /dev -type b; ls /dev", "fd\nfull\nmqueue\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\n" +
			"tty\nurandom\nzero"},
		{"no way back by what is shared", "cat /proc/self/mountinfo | grep -c ' / / '", "1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := output(t, h, "cd "+dir+"\n"+tt.script); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.script, got, tt.want)
			}
		})
	}

	if data, err := os.ReadFile(victim); err != nil || string(data) != "machine\n" {
		t.Errorf("the machine's file is %q, %v", data, err)
	}
}

// TestHostEndsWithInit kills the first process as a crash would and expects that the programs are gone and that the
// next first process takes over.
func TestHostEndsWithInit(t *testing.T) {
	h, p := up(t)
	first, err := h.PID()
	if err != nil {
		t.Fatal(err)
	}

	cmd := h.Command(t.Context(), "/bin/sh", "-c", "(sleep 600 & sleep 600 & wait) & echo started; wait")
	var out bytes.Buffer
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.StartCommand(t.Context(), cmd); err != nil {
		t.Fatal(err)
	}

	line := make([]byte, 8)
	if _, err := pipe.Read(line); err != nil {
		t.Fatal(err, out.String())
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}

	if err := cmd.Wait(); err == nil {
		t.Error("the program outlived its host")
	}

	deadline := time.Now().Add(10 * time.Second)
	for {
		pid, err := h.PID()
		if err == nil && pid != first && h.Ready(t.Context()) == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no new first process: %v, state %+v", err, p.State())
		}
		<-time.After(10 * time.Millisecond)
	}

	if got := output(t, h, "cat /proc/[0-9]*/comm"); strings.Contains(got, "sleep") {
		t.Errorf("programs of the first life are in the second:\n%s", got)
	}
}

func TestHostReapsOrphans(t *testing.T) {
	h, _ := up(t)
	output(t, h, "for i in 1 2 3 4 5 6 7 8; do (true &) ; done")
	deadline := time.Now().Add(10 * time.Second)
	for {
		got := output(t, h, "cat /proc/[0-9]*/stat | grep -c ' Z ' || true")
		if n, err := strconv.Atoi(got); err == nil && n == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("zombies: %s", got)
		}
	}
}

func TestDownHost(t *testing.T) {
	h := winhost.Host{Name: "win-9", StateFile: filepath.Join(t.TempDir(), "state.json")}
	check := func(why string) {
		t.Helper()
		if _, err := h.Output(t.Context(), nil, nil, "/bin/true"); !errors.Is(err, winhost.ErrDown) {
			t.Errorf("%s: err = %v, want ErrDown", why, err)
		}
	}
	check("no state file")

	// A process that exists, but is not the one of the record.
	if err := os.WriteFile(h.StateFile, []byte(fmt.Sprintf(`{"pid":%d,"startTime":1}`, os.Getpid())),
		0o600); err != nil {
		t.Fatal(err)
	}
	check("another process has the pid")
	if err := os.WriteFile(h.StateFile, []byte(`{"pid":4194304,"startTime":1}`), 0o600); err != nil {
		t.Fatal(err)
	}

	check("no such process")
	if err := winhost.Init(h); err == nil {
		t.Error("Init ran outside a PID namespace")
	}
}
