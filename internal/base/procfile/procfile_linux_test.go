package procfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugeName is the variable by which the test runs itself as a process that shows an environment of 16 GiB.
const hugeName = "PROCFILE_HUGE"

func TestMain(m *testing.M) {
	if os.Getenv(hugeName) != "" {
		os.Exit(showHuge())
	}
	os.Exit(m.Run())
}

// showHuge has /proc show 16 GiB of nothing as this process's environment, and waits for the end of its input.
func showHuge() int {
	const size = 16 << 30
	room, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return 3
	}

	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 4
	}

	// field is a field of proc_pid_stat(5), by its number there; the name before field 3 may hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	field := func(n int) uint64 {
		v, _ := strconv.ParseUint(fields[n-3], 10, 64)
		return v
	}

	brk, _, _ := unix.Syscall(unix.SYS_BRK, 0, 0, 0)
	start := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(room))))

	// struct prctl_mm_map of linux/prctl.h
	m := struct {
		code, codeEnd, data, dataEnd, brk, brkEnd, stack, arg, argEnd, env, envEnd, auxv uint64
		auxvSize, exe                                                                    uint32
	}{
		field(26), field(27), field(45), field(46), field(47), uint64(brk), field(28), field(48), field(49),
		start, start + size, 0, 0, ^uint32(0),
	}

	err = unix.Prctl(unix.PR_SET_MM, unix.PR_SET_MM_MAP, uintptr(unsafe.Pointer(&m)), unsafe.Sizeof(m), 0)
	if err != nil {
		_, _ = os.Stdout.WriteString(err.Error())
		return 4
	}
	_, _ = os.Stdout.WriteString("ready\n")
	_, _ = os.Stdin.Read(make([]byte, 1))
	return 0
}

func TestHasVariable(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "echo runs; read line")
	cmd.Env = []string{"A=1", "MARK=yes"}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = in.Close(), cmd.Wait() }()
	if _, err := out.Read(make([]byte, 1)); err != nil { // Start may return before the environment is there
		t.Fatal(err)
	}

	for variable, want := range map[string]bool{"MARK=yes": true, "MARK=ye": false, "MARK": false, "B=1": false} {
		if got := HasVariable(cmd.Process.Pid, variable); got != want {
			t.Errorf("%s: %v, want %v", variable, got, want)
		}
	}

	if _, err := Read(1<<30, "environ"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a process that is not there: %v", err)
	}
}

// TestKillMarked: a process with the variable is killed, one without it goes on, and one that is gone is no error.
func TestKillMarked(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "echo runs; read line")
	cmd.Env = []string{"MARK=yes"}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}

	pid := cmd.Process.Pid
	if marked, err := KillMarked(pid, "MARK=no"); marked || err != nil {
		t.Errorf("without the variable: %v, %v", marked, err)
	}
	if err := cmd.Process.Signal(unix.Signal(0)); err != nil {
		t.Fatalf("a process without the variable: %v", err)
	}

	if marked, err := KillMarked(pid, "MARK=yes"); !marked || err != nil {
		t.Errorf("with the variable: %v, %v", marked, err)
	}
	_ = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != unix.SIGKILL {
		t.Errorf("it has ended with %v", cmd.ProcessState)
	}
	if marked, err := KillMarked(pid, "MARK=yes"); marked || err != nil {
		t.Errorf("one that is gone: %v, %v", marked, err)
	}
}

// TestReadIsBounded reads a process that says that its environment is 16 GiB long.
func TestReadIsBounded(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), hugeName+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	said := make([]byte, 16)
	n, _ := out.Read(said)
	if !strings.HasPrefix(string(said[:n]), "ready") {
		_, _ = in.Close(), cmd.Wait()
		t.Fatalf("the process did not change what is shown of it: %s, %s", said[:n], cmd.ProcessState)
	}

	environ, err := Read(cmd.Process.Pid, "environ")
	if err != nil || len(environ) != mostBytes {
		t.Errorf("read %d bytes, want %d: %v", len(environ), mostBytes, err)
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Error(err)
	}
}

// TestStat: a process names itself what it likes, and the fields after that are found.
func TestStat(t *testing.T) {
	program := filepath.Join(t.TempDir(), "a) Z (b")
	if err := os.Symlink("/bin/sleep", program); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stat := Stat(cmd.Process.Pid)
	if len(stat) < 2 || stat[0] == "Z" || stat[1] != strconv.Itoa(os.Getpid()) {
		t.Errorf("its stat after the name: %q", stat)
	}
	if all := Cgroups(cmd.Process.Pid); len(all) == 0 || !strings.HasPrefix(all[0], "/") {
		t.Errorf("its cgroups: %q", all)
	}

	pid := cmd.Process.Pid
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if stat, all := Stat(pid), Cgroups(pid); len(stat) > 0 || len(all) > 0 {
		t.Errorf("of one that has ended: %q, %q", stat, all)
	}
}
