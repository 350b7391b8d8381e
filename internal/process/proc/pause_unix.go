//go:build unix

package proc

import (
	"os"
	"syscall"
)

func signalPause(p *os.Process) error  { return p.Signal(syscall.SIGSTOP) }
func signalResume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
