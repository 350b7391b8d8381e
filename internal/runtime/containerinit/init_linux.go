package containerinit

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
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

	files, explained, err := files(cfg)
	if err != nil {
		return 0, err
	}
	defer explained()
	main, err := start(cfg.Argv, cfg.Env, files...)
	if err != nil {
		return 0, fmt.Errorf("start %q: %w", cfg.Argv[0], err)
	}

	life := life{
		cfg:     cfg,
		main:    main,
		errOut:  errOut,
		starter: listen(cfg),
	}
	terminal := isTerminal(0)

	for sig := range signals {
		number, ok := sig.(syscall.Signal)
		switch {
		case !ok:
		case number == syscall.SIGCHLD:
			if life.childEnded() {
				return life.code, nil
			}
		case terminal && (number == syscall.SIGINT || number == syscall.SIGQUIT):
			// typed on the terminal, so the kernel has sent it to the whole foreground group, the main program included
		default:
			forward(cfg, life.main, number)
		}
	}

	return 0, nil
}

// life is how far a container has come: its main program runs, then its services end, then Wine's server.
type life struct {
	cfg    Config
	errOut io.Writer
	// main is the main program, 0 once it has ended. services is the process that ends the services, server Wine's
	// server that was told to end; 0: there is none.
	main, services, server int
	// code is the container's exit code, the main program's.
	code int
	// starter starts further programs; nil: nobody asks for any.
	starter *starter
}

// listen has the engine ask for programs, if the container is to have that and can. Without it the engine starts its
// programs otherwise.
func listen(cfg Config) *starter {
	if cfg.Listen == "" {
		return nil
	}
	s, err := newStarter(cfg.Listen)
	if err != nil {
		return nil
	}
	s.launch = cfg.launch()
	go s.serve()
	return s
}

// childEnded looks at the children that have ended, and reports whether the container is over.
func (l *life) childEnded() (over bool) {
	if l.server != 0 {
		return reapUntil(l.server)
	}

	code, ended, dead := l.reap()
	switch {
	case l.services != 0 && (ended || dead):
		l.services = 0
		return l.last()
	case dead:
		l.code = code
		return true

	case ended:
		l.code, l.main = code, 0
		if l.services = endServices(l.cfg, procfs); l.services == 0 {
			return l.last()
		}
	}

	return false
}

// last does what is left when the services have ended, and reports whether the container is over.
func (l *life) last() (over bool) {
	noteLeft(l.cfg, procfs)
	l.server = settle(l.cfg, procfs)
	return l.server == 0
}

// files returns the descriptors of the main program: the standard ones, and one for Wine's lines if they are to be
// kept. Call the returned function when the main program has ended.
func files(cfg Config) ([]uintptr, func(), error) {
	standard := []uintptr{0, 1, 2}
	if cfg.Explain == "" {
		return standard, func() {}, nil
	}
	debug, end, err := explain(cfg.Explain)
	if err != nil {
		return nil, nil, fmt.Errorf("make a pipe: %w", err)
	}
	return append(standard, uintptr(debug)), func() {
		_ = syscall.Close(debug) // a pipe
		end()
	}, nil
}

// procfs is where Linux shows the processes of the container.
const procfs = "/proc"

// endServices starts a program that tells the container's Windows services that the container ends, and waits until
// they have ended. It returns its process, 0 if there is nothing to be told.
func endServices(cfg Config, proc string) int {
	argv := cfg.endArgv()
	if argv == nil || !servicesRun(proc) {
		return 0
	}
	pid, err := start(argv, cfg.Env)
	if err != nil {
		return 0 // Wine is gone, and the services with it
	}
	return pid
}

// settleTime is how long Wine's server has to write the registry: any program may call itself so.
const settleTime = 10 * time.Second

// settle tells Wine's server to end, which then writes the registry, and returns its process; 0: it is not to, or there
// is none. SIGTERM is the server's word for it
// (https://gitlab.winehq.org/wine/wine/-/blob/wine-8.0/server/signal.c, sigterm_callback).
func settle(cfg Config, proc string) int {
	if !cfg.Settle {
		return 0
	}
	names, err := os.ReadDir(proc)
	if err != nil {
		return 0
	}

	for _, name := range names {
		pid, err := strconv.Atoi(name.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(proc + "/" + name.Name() + "/stat")
		if err != nil || !ownServer(string(stat), os.Getpid()) {
			continue
		}

		if syscall.Kill(pid, syscall.SIGTERM) == nil {
			time.AfterFunc(settleTime, func() { _ = syscall.Kill(pid, syscall.SIGKILL) }) // its end is a SIGCHLD too
			return pid
		}
	}

	return 0
}

// ownServer reports whether a process is Wine's server and a child of the parent, by its line in /proc/PID/stat:
// "12 (wineserver64) S 1 …". The server leaves its own parent, so in a container it is PID 1's child.
func ownServer(stat string, parent int) bool {
	_, rest, _ := strings.Cut(stat, "(")
	end := strings.LastIndexByte(rest, ')')
	if end < 0 || !orphans.IsWineServer(rest[:end]) {
		return false
	}
	fields := strings.Fields(rest[end+1:])
	return len(fields) > 1 && fields[1] == strconv.Itoa(parent)
}

// reapUntil collects every child that has ended, and reports whether a process was among them.
func reapUntil(pid int) bool {
	found := false
	orphans.Reap(func(ended int, _ string, _ syscall.WaitStatus) { found = found || ended == pid })
	return found
}

// servicesRun reports whether Wine's service control manager runs in the container.
func servicesRun(proc string) bool {
	dir, err := os.Open(proc)
	if err != nil {
		return false
	}
	defer dir.Close()

	names, _ := dir.Readdirnames(-1) // those that were read
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		comm, err := os.ReadFile(proc + "/" + name + "/comm")
		if err == nil && string(comm) == "services.exe\n" {
			return true
		}
	}

	return false
}

// start starts a program; files are its descriptors, those of this process if there are none.
func start(argv, env []string, files ...uintptr) (int, error) {
	if len(files) == 0 {
		files = []uintptr{0, 1, 2}
	}
	return syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Env: env, Files: files})
}

// reap is reap of the main program and the one that ends the services.
func (l *life) reap() (code int, ended, dead bool) {
	if l.starter == nil {
		return reap(l.main, l.services, l.errOut, func(int, syscall.WaitStatus) {})
	}
	l.starter.mu.Lock()
	defer l.starter.mu.Unlock()
	return reap(l.main, l.services, l.errOut, l.starter.ended)
}

// reap collects every child that has ended, and tells other of those that are nothing else. ended reports whether the
// main program, or the one that ends the services, was among them, with its exit code.
// dead reports that Wine's server was killed, for example for lack of memory: without the server a Windows program
// stands still and never ends.
func reap(
	main, end int, errOut io.Writer, other func(pid int, status syscall.WaitStatus),
) (code int, ended, dead bool) {
	orphans.Reap(func(pid int, name string, status syscall.WaitStatus) {
		switch {
		case pid == main, pid == end:
			code, ended = exitCode(status), true
		case !ended && !dead && orphans.IsWineServer(name) && orphans.Killed(status):
			_, _ = io.WriteString(errOut,
				"mullion-init: Wine's server ended with code "+strconv.Itoa(
					exitCode(status))+", no Windows program can go on\n")
			code, dead = exitCode(status), true
		default:
			other(pid, status)
		}
	})

	return code, ended, dead
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

// forward passes a signal to the main program: as it is, or as a control event to the Windows program that it has
// started, and to no other, as on Windows. One that has not started yet is killed with the launcher.
func forward(cfg Config, main int, sig syscall.Signal) {
	if main == 0 {
		return // it has ended, and the services are ending
	}
	if !cfg.windows() {
		_ = syscall.Kill(main, sig) // it may have ended: its SIGCHLD is on the way
		return
	}

	report, _ := os.ReadFile(cfg.report()) // without one the program has not started
	pid := startedPID(string(report))
	if pid != "" {
		if _, err := start(cfg.ctrlArgv(ctrlEvent(sig), pid), cfg.Env); err == nil {
			return
		}
	}
	_ = syscall.Kill(main, syscall.SIGKILL) // or Wine is gone, so the program cannot be asked to end
}

// ctrlEvent returns the Windows control event that corresponds to a signal.
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
