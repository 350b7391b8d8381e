//go:build kernel

package linuxhost_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/node/linuxhost"
)

// setUpVariable makes the test program what makes a host's namespaces.
const setUpVariable = "MULLION_TEST_SET_UP"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == setUpVariable {
		if err := linuxhost.SetUp(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func program(t *testing.T) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{exe, setUpVariable}
}

// up makes a host for one test, and checks at the end that nothing of it is left.
func up(t *testing.T) linuxhost.Host {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir := t.TempDir()
	shown := filepath.Join(dir, "shown")
	if err := os.MkdirAll(shown, 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(shown, "file"), []byte("first"), 0o644); err != nil {
		t.Fatal(err)
	}

	h := linuxhost.Host{
		Name:   "linux-1",
		Netns:  filepath.Join(dir, "netns"),
		Root:   filepath.Join(dir, "root"),
		RunDir: filepath.Join(dir, "nodes", "linux-1"),
		Cgroup: fmt.Sprintf("/mullion-test-%d/linux-1", os.Getpid()),
		Binds:  []linuxhost.Bind{{Source: shown, Target: "/opt/shown"}},
	}

	if _, err := netns.Ensure(h.Netns); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := h.Remove(); err != nil {
			t.Error(err)
		}
		if err := netns.Remove(h.Netns); err != nil {
			t.Error(err)
		}

		removeCgroups(t, filepath.Dir(h.Cgroup))
		mounts, err := os.ReadFile("/proc/self/mounts")
		if err != nil || strings.Contains(string(mounts), dir) {
			t.Errorf("mounts left behind (%v):\n%s", err, mounts)
		}
	})

	if err := h.Ensure(t.Context(), program(t)); err != nil {
		t.Fatal(err)
	}
	for _, own := range []string{h.RunDir, filepath.Dir(h.RunDir)} { // where sockets of the host are, and of its pods
		if info, err := os.Stat(own); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("other users of the machine get into %s: %v, %v", own, info.Mode(), err)
		}
	}

	return h
}

func removeCgroups(t *testing.T, cgroup string) {
	t.Helper()
	roots, err := filepath.Glob("/sys/fs/cgroup/*" + cgroup)
	if err != nil {
		t.Fatal(err)
	}

	for _, root := range append(roots, "/sys/fs/cgroup"+cgroup) {
		var dirs []string
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append([]string{path}, dirs...)
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}

		for _, dir := range dirs {
			if err := os.Remove(dir); err != nil {
				t.Errorf("a process is left in it, or: %v", err)
			}
		}
	}
}

func shell(t *testing.T, h linuxhost.Host, script string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
	cmd.Env, cmd.Dir = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, "/"
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := h.Exec(t.Context(), cmd)
	return strings.TrimSpace(out.String()), err
}

func TestHostIsolation(t *testing.T) {
	h := up(t)
	for _, tt := range []struct{ name, script, want string }{
		{"host name", "uname -n", "linux-1"},
		{"only loopback", "ls /sys/class/net", "lo"},
		{"nothing of the machine's", "ls -A /root /home /srv /run /var/tmp | grep -v : | xargs", ""},
		{"programs are read-only", "touch /usr/x 2>&1 | grep -o 'Read-only file system'", "Read-only file system"},
		{"shown folder", "cat /opt/shown/file; touch /opt/shown/x 2>/dev/null || echo kept", "firstkept"},
		{"kernel's switches are plain files", "echo 7 > /proc/sys/kernel/panic; cat /proc/sys/kernel/panic", "7"},
		{"own cgroup is the root", "grep -h -o ':/.*' /proc/self/cgroup | grep -v '^:/$' | sort -u", ":/system"},
		{"cgroups are its own", "d=/sys/fs/cgroup; [ -d $d/pids ] && d=$d/pids; mkdir $d/made && rmdir $d/made && ls -d $d/mullion* 2>/dev/null | wc -l", "0"},
		{"devices", "echo x > /dev/null; head -c 2 /dev/zero | wc -c; ls /dev/sda /dev/vda /dev/mem 2>/dev/null | wc -l", "2\n0"},
		{"machine's root is out of reach", "ls /proc/self/root/../ | grep -c work", "0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, _ := shell(t, h, tt.script); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.script, got, tt.want)
			}
		})
	}

	if panics, err := os.ReadFile("/proc/sys/kernel/panic"); err != nil || string(panics) == "7\n" {
		t.Errorf("the machine's kernel.panic is %q, %v", panics, err)
	}
	if name, err := os.Hostname(); err != nil || name == "linux-1" {
		t.Errorf("the machine's name is %q, %v", name, err)
	}
}

// TestRootWithLinks makes a host again, after pods have put links into its root: nothing is made where they lead.
func TestRootWithLinks(t *testing.T) {
	h := up(t)
	victim := t.TempDir()
	if err := os.Chmod(victim, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := h.Remove(); err != nil {
		t.Fatal(err)
	}

	climb := strings.Repeat("../", strings.Count(h.Root, "/")+3) + victim[1:]
	for name, to := range map[string]string{
		"etc": victim, "tmp": climb, "var": victim, "proc": victim, "dev": climb, "usr": victim, "opt/shown": victim,
	} {
		path := h.Path(name)
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}

	if err := h.Ensure(t.Context(), program(t)); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(victim)
	info, statErr := os.Stat(victim)
	if err != nil || statErr != nil || len(left) > 0 || info.Mode().Perm() != 0o711 {
		t.Errorf("the machine's folder has %v and mode %v (%v, %v)", left, info.Mode(), err, statErr)
	}

	out, err := shell(t, h, "cat /opt/shown/file && test -d /etc/ssl && ls -d /usr/bin && : >/tmp/written && echo made")
	if err != nil || !strings.Contains(out, "first") || !strings.Contains(out, "made") {
		t.Errorf("in the host: %q, %v", out, err)
	}
}

// TestRootWithoutKeys looks for the machine's private keys in a host. Debian's package openssl makes /etc/ssl/private.
func TestRootWithoutKeys(t *testing.T) {
	h := up(t)
	out, err := shell(t, h,
		"cd /etc && find ssl pki ! -type d ! -perm -o=r 2>/dev/null; ls -d ssl/* pki/* pki/tls/* 2>/dev/null; true")
	if err != nil {
		t.Fatal(err, out)
	}

	shown := []string{
		"ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "pki/tls", "pki/ca-trust", "pki/tls/certs", "pki/tls/cert.pem",
		"pki/tls/openssl.cnf",
	}
	names := strings.Fields(out)
	if len(names) == 0 {
		t.Error("no certificates are shown")
	}

	for _, name := range names {
		if !slices.Contains(shown, name) {
			t.Errorf("the host shows the machine's /etc/%s", name)
		}
	}
}

// TestHostOutlivesItsProcesses mounts something in a host in which no process is left, and finds it again.
func TestHostOutlivesItsProcesses(t *testing.T) {
	h := up(t)
	if out, err := shell(
		t, h, "mkdir /var/volume && mount -t tmpfs volume /var/volume && echo kept > /var/volume/file"); err != nil {
		t.Fatal(err, out)
	}
	if err := h.Ensure(t.Context(), []string{"/nothing/must/be/started"}); err != nil {
		t.Fatal(err)
	}

	if out, err := shell(t, h, "cat /var/volume/file"); err != nil || out != "kept" {
		t.Errorf("got %q, %v", out, err)
	}
	if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || strings.Contains(string(mounts), "/var/volume") {
		t.Errorf("the machine sees the host's mounts (%v)", err)
	}
}

// TestHostFollowsItsBinds puts another folder in a shown one's place, as a new build does.
func TestHostFollowsItsBinds(t *testing.T) {
	h := up(t)
	source := h.Binds[0].Source
	if err := os.Rename(source, source+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(source, 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(source, "file"), []byte("second"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := h.Ensure(t.Context(), nil); err != nil {
		t.Fatal(err)
	}

	if out, err := shell(t, h, "cat /opt/shown/file; touch /opt/shown/x 2>/dev/null && echo written"); err == nil ||
		out != "second" {
		t.Errorf("got %q, %v", out, err)
	}
}

// TestHostWithoutItsCgroups takes the host's cgroups away, as stopping a cluster does, and expects one that works
// again.
func TestHostWithoutItsCgroups(t *testing.T) {
	h := up(t)
	removeCgroups(t, h.Cgroup)

	// that somebody makes it again is not enough
	for _, dir := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err != nil {
			continue
		}
		if err := os.MkdirAll(filepath.Join(dir, h.Cgroup), 0o755); err != nil {
			t.Fatal(err)
		}
		break
	}

	if err := h.Ensure(t.Context(), program(t)); err != nil {
		t.Fatal(err)
	}
	if out, err := shell(
		t, h, "d=/sys/fs/cgroup; [ -d $d/pids ] && d=$d/pids; mkdir $d/made && rmdir $d/made && cat /opt/shown/file"); err != nil || out != "first" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestHostThatIsDown(t *testing.T) {
	h := up(t)
	if err := h.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := shell(t, h, "true"); !errors.Is(err, linuxhost.ErrDown) {
		t.Errorf("err = %v, want ErrDown", err)
	}

	if err := h.Ensure(t.Context(), []string{"/bin/false"}); err == nil {
		t.Error("a host was made by a program that ends at once")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Ensure(ctx, program(t)); err == nil {
		t.Error("a host was made though the context was over")
	}

	if err := h.Ensure(t.Context(), program(t)); err != nil {
		t.Fatal(err)
	}
	if out, err := shell(t, h, "uname -n"); err != nil || out != "linux-1" {
		t.Errorf("got %q, %v", out, err)
	}
}

// onV2 is set in the test program's environment when it runs where only cgroup v2 is mounted.
const onV2 = "MULLION_TEST_CGROUP2"

// TestOnCgroupV2 runs the other tests again in a mount namespace with cgroup v2 alone, on a machine that has v1. All of
// it runs on one processor: Linux 6.18 numbers mount namespaces per processor, and one can be pinned only in a
// namespace with a lower number.
func TestOnCgroupV2(t *testing.T) {
	if os.Getenv(onV2) != "" {
		t.Skip("this is the run on cgroup v2")
	}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		t.Skip("the machine has cgroup v2: the other tests were on it")
	}

	const script = `umount -R -l /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec "$0" -test.v -test.run '^TestHost'`
	cmd := exec.CommandContext(t.Context(), "taskset", "-c", "0", "unshare", "-m", "--propagation", "private", "sh",
		"-c", script, program(t)[0])
	cmd.Env = append(os.Environ(), onV2+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "\n--- PASS") < 5 {
		t.Errorf("%v\n%s", err, out)
	}
}

// A host can be made in any mount namespace, a container's for example. On Linux 6.18 it depends on the processors on
// which two namespaces were made whether one of them can be pinned in the other.
func TestHostInAnotherMountNamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}

	for cpu := range 64 {
		for range 2 {
			if !all.IsSet(cpu) {
				continue
			}
			script := fmt.Sprintf(
				`taskset -c %d unshare --mount --propagation private sh -c 'taskset -p %#x $$ >/dev/null && exec "$0" -test.v -test.run "^TestHostOutlivesItsProcesses$"' "$0"`, cpu, all[0])
			out, err := exec.CommandContext(t.Context(), "sh", "-c", script, program(t)[0]).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "--- PASS") {
				t.Fatalf("in a mount namespace made on processor %d: %v\n%s", cpu, err, out)
			}
		}
	}
}
