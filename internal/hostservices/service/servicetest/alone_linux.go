package servicetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
)

// ownMounts is the variable of the environment that a test program has in its own mount namespace.
const ownMounts = "MULLION_TEST_OWN_MOUNTS"

// Alone runs a package's tests in a mount namespace of their own, and returns the exit code. A namespace that somebody
// else begins meanwhile has a copy of all mounts of the one that it was made of, and keeps a volume busy that tests
// have unmounted.
func Alone(m *testing.M) int {
	//nolint:forbidigo // a test, which has no cli.Env
	if os.Geteuid() != 0 || os.Getenv(ownMounts) != "" {
		return m.Run()
	}

	cmd := exec.Command("/proc/self/exe", os.Args[1:]...) //nolint:forbidigo // as above
	cmd.Env = append(os.Environ(), ownMounts+"=1")        //nolint:forbidigo // as above
	cmd.Stdin = os.Stdin                                  //nolint:forbidigo // as above
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr         //nolint:forbidigo // as above
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Unshareflags: syscall.CLONE_NEWNS, // nothing that is mounted or unmounted there is outside
		Pdeathsig:    syscall.SIGKILL,
	}
	runtime.LockOSThread() // Pdeathsig is that of the thread

	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, "begin a mount namespace for the tests:", err) //nolint:forbidigo // as above
		return 1
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}

	return 1 // a signal
}
