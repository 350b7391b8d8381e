package userns

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// coreLimits is set for a process of TestRlimitsUnderSudo's own, whose limits it changes.
const coreLimits = "MULLION_TEST_CORE_LIMITS"

// TestRlimitsUnderSudo: sudo takes core files from what it starts, and root in a container may not get them back. Then
// containers get a limit that they can be given, and preflight has an error.
func TestRlimitsUnderSudo(t *testing.T) {
	if os.Getenv(coreLimits) != "" {
		underSudo(t)
		return
	}

	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), coreLimits+"=1")
	out, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
}

func underSudo(t *testing.T) {
	t.Helper()
	runtime.LockOSThread() // it alone loses its capabilities
	none := unix.Rlimit{}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &none); err != nil {
		t.Fatal(err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var without [2]unix.CapUserData
	if err := unix.Capset(&header, &without[0]); err != nil {
		t.Fatal(err)
	}

	if err := AllowCoreLimit(); err == nil {
		t.Error("a limit that may not be raised was")
	}
	if core := Rlimits(1)[0]; core.Type != "RLIMIT_CORE" || core.Hard != 0 || core.Soft != 0 {
		t.Errorf("%+v", core)
	}
}

// TestAllowCoreLimit: with a limit that is high enough nothing has to be raised.
func TestAllowCoreLimit(t *testing.T) {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &own); err != nil {
		t.Fatal(err)
	}
	if own.Max < coreFiles {
		t.Skip("this process has no core files itself")
	}

	if err := AllowCoreLimit(); err != nil {
		t.Error(err)
	}
	if core := Rlimits(1)[0]; core.Hard != coreFiles || core.Soft != coreFiles {
		t.Errorf("%+v", core)
	}
}
