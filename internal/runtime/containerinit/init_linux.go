package containerinit

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"unsafe"

	"mullion.dev/mullion/internal/runtime/orphans"
)

// signalBase is added to a signal's number to make the exit code of a process that a signal ended, as shells do.
const signalBase = 128

// Run starts the main program and returns its exit code when it has ended; everything else in the container then dies
// with this process. Standard input, output and error, the terminal and the process group are handed on untouched, so a
// program on a terminal is in its foreground. errOut gets the reason if the container ends before its main program
// does.
func Run(cfg Config, errOut io.Writer) (int, error) {
	signals := make(chan os.Signal, 64) // the kernel merges a burst of SIGCHLD, so the buffer suffices
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP,
		syscall.SIGUSR1, syscall.SIGUSR2)

	main, err := start(cfg.Argv, cfg.Env)
	if err != nil {
		return 0, fmt.Errorf("start %q: %w", cfg.Argv[0], err)
	}
	terminal := isTerminal(0)
	for sig := range signals {
		number, ok := sig.(syscall.Signal)
		switch {
		case !ok:
		case number == syscall.SIGCHLD:
			if code, ended := reap(main, errOut); ended {
				return code, nil
			}
		case terminal && (number == syscall.SIGINT || number == syscall.SIGQUIT):
			// typed on the terminal, so the kernel has sent it to the whole foreground group, the main program included
		default:
			forward(cfg, main, number)
		}
	}
	return 0, nil
}

func start(argv, env []string) (int, error) {
	return syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2}})
}

// reap collects every child that has ended. ended reports whether the main program was among them, with its exit code.
// If Wine's server was killed, for example for lack of memory, the main program counts as ended: without the server a
// Windows program stands still and never ends.
func reap(main int, errOut io.Writer) (code int, ended bool) {
	orphans.Reap(func(pid int, name string, status syscall.WaitStatus) {
		switch {
		case pid == main:
			code, ended = exitCode(status), true
		case !ended && orphans.IsWineServer(name) && orphans.Killed(status):
			_, _ = io.WriteString(errOut,
				"mullion-init: Wine's server ended with code "+strconv.Itoa(
					exitCode(status))+", no Windows program can go on\n")
			code, ended = exitCode(status), true
		}
	})
	return code, ended
}

func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return signalBase + int(status.Signal())
	}
	return status.ExitStatus()
}

// isTerminal reports whether a file descriptor is a terminal.
func isTerminal(fd int) bool {
	var term syscall.Termios
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TCGETS, uintptr(unsafe.Pointer(&term)))
	return errno == 0
}

// forward passes a signal to the main program: as a control event if it is a Windows program, else as it is.
func forward(cfg Config, main int, sig syscall.Signal) {
	argv := cfg.ctrlArgv(ctrlEvent(sig))
	if argv == nil {
		_ = syscall.Kill(main, sig) // it may have ended: its SIGCHLD is on the way
		return
	}
	if _, err := start(argv, cfg.Env); err != nil {
		_ = syscall.Kill(main, syscall.SIGKILL) // Wine is gone, so the program cannot be asked to end
	}
}

// ctrlEvent is the Windows control event that corresponds to a signal.
func ctrlEvent(sig syscall.Signal) string {
	switch sig {
	case syscall.SIGINT:
		return "c"
	case syscall.SIGQUIT:
		return "break"
	case syscall.SIGHUP:
		return "close"
	default:
		return "shutdown"
	}
}
