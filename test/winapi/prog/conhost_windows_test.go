package prog

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// conhostPart says, in the environment, which program of TestConsoleHost this process is.
const conhostPart = "WINAPI_CONHOST_PART"

// conhostCommand is this test's program as a part of the test.
func conhostCommand(t *testing.T, part string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestConsoleHost$")
	cmd.Env = append(os.Environ(), conhostPart+"="+part)
	return cmd
}

// TestConsoleHost: a program without a console, as a service is, reads the output of one that leaves another one
// running on its console. The output ends with the program that writes it, although its console host goes on, too.
func TestConsoleHost(t *testing.T) {
	switch part := os.Getenv(conhostPart); part {
	case "":
	case "writes":
		leaves := conhostCommand(t, "stays")
		if err := leaves.Start(); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("left %d\n", leaves.Process.Pid)
		os.Exit(0)
	case "stays":
		time.Sleep(time.Minute)
		os.Exit(0)
	default: // a file: the service
		if err := os.WriteFile(part, []byte(conhostReads(t)), 0o600); err != nil {
			t.Fatal(err)
		}
		os.Exit(0)
	}

	said := filepath.Join(t.TempDir(), "said")
	service := conhostCommand(t, said)
	const detached = 0x8 // DETACHED_PROCESS
	service.SysProcAttr = &syscall.SysProcAttr{CreationFlags: detached}
	if err := service.Run(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(said)
	if err != nil || !strings.HasPrefix(string(text), "ended: left ") {
		t.Errorf("the service says %q, %v", text, err)
	}
}

// conhostReads reads the output of the program that leaves another one, and says how that ended.
func conhostReads(t *testing.T) string {
	t.Helper()
	writes := conhostCommand(t, "writes")
	out, err := writes.StdoutPipe()
	if err == nil {
		err = writes.Start()
	}
	if err != nil {
		return err.Error()
	}

	ended := make(chan string, 1)
	var first [64]byte
	n, _ := out.Read(first[:])
	go func() {
		_, _ = io.Copy(io.Discard, out)
		ended <- "ended: "
	}()
	how := "did not end: "
	select {
	case how = <-ended:
	case <-time.After(20 * time.Second):
	}

	if !hasConhost(writes.Process.Pid) {
		how = "the console host is gone, which says nothing: "
	}
	var pid int
	if _, err := fmt.Sscanf(string(first[:n]), "left %d", &pid); err != nil {
		return fmt.Sprintf("%s%q: %v", how, first[:n], err)
	}
	if left, err := os.FindProcess(pid); err == nil {
		_ = left.Kill()
	}
	return how + string(first[:n])
}

// hasConhost reports whether the console host runs that a process has started.
func hasConhost(parent int) bool {
	snapshot, err := syscall.CreateToolhelp32Snapshot(syscall.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return false
	}
	defer syscall.CloseHandle(snapshot)
	var e syscall.ProcessEntry32
	e.Size = uint32(unsafe.Sizeof(e))
	for err = syscall.Process32First(snapshot, &e); err == nil; err = syscall.Process32Next(snapshot, &e) {
		if int(e.ParentProcessID) == parent && strings.EqualFold(syscall.UTF16ToString(e.ExeFile[:]), "conhost.exe") {
			return true
		}
	}
	return false
}
