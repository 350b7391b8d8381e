package critest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"mullion.dev/mullion/internal/runtime/engine"
)

// Linux' exit codes of processes that a signal has ended.
const (
	exitTerminated = 128 + 15
	exitKilled     = 128 + 9
)

// Process is PID 1 of a container of the fake engine. A test writes its output and ends it.
type Process struct {
	// Args is the Windows program's own command line.
	Args []string
	// Stdin, Stdout and Stderr are the container's FIFOs as the shim has them open; those that are not connected are
	// nil.
	Stdin, Stdout, Stderr *os.File
	// Stubborn processes do not end when they are asked to.
	Stubborn bool
	// Leaves is what mullion-init reports when the process has ended as it was asked to: "2 prog.exe"; "": nothing.
	Leaves string
	// Immortal processes end with their virtual machine alone, whose guest says that it kills them.
	Immortal bool

	report  string
	ownEnd  *os.File // of Stdin
	endOnce sync.Once
	ended   chan struct{}
	exit    engine.Exit
}

// newProcess opens the streams as a shim does: without waiting for the other side.
func newProcess(c engine.Container, stdio engine.IO) (*Process, error) {
	report := machinePath(c, argument(c.Args, "--report"))
	p := &Process{
		Args:   programOf(c.Args),
		report: report,
		ended:  make(chan struct{}),
	}

	var errs []error
	open := func(path string, flag int) *os.File {
		if path == "" {
			return nil
		}
		f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, 0)
		errs = append(errs, err)
		return f
	}

	p.Stdin, p.ownEnd = open(stdio.Stdin, os.O_RDONLY), open(stdio.Stdin, os.O_WRONLY)
	p.Stdout, p.Stderr = open(stdio.Stdout, os.O_RDWR), open(stdio.Stderr, os.O_RDWR)
	if err := errors.Join(errs...); err != nil {
		p.closeStreams()
		return nil, fmt.Errorf("open streams of container %q: %w", c.ID, err)
	}

	return p, nil
}

// Started reports, as mullion-run.exe does, that the Windows program runs.
func (p *Process) Started() error {
	return writeReport(p.report, fmt.Sprintf("started %d\n", startedPID))
}

// startedPID is the process id in Windows of each container's program.
const startedPID = 32

// Refuse reports that Windows would not start the program, and ends as mullion-run.exe does then.
func (p *Process) Refuse(code uint32, words string) error {
	err := p.ReportRefused(code, words)
	p.End(1)
	return err
}

// ReportRefused reports that Windows would not start the program, and lives on.
func (p *Process) ReportRefused(code uint32, words string) error {
	return writeReport(p.report, fmt.Sprintf("failed %d %s\n", code, words))
}

// Exit ends the process with a Windows exit code, of which Linux sees 8 bits.
func (p *Process) Exit(code uint32) error {
	err := writeReport(p.report, fmt.Sprintf("exited %d\n", code))
	p.End(code & 0xff)
	return err
}

// End ends the process with a Linux exit code and reports nothing, as when it is killed.
func (p *Process) End(code uint32) {
	p.endOnce.Do(func() {
		p.exit = engine.Exit{Code: code, At: time.Now()}
		p.closeStreams()
		close(p.ended)
	})
}

func (p *Process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func (p *Process) closeStreams() {
	for _, f := range []*os.File{p.Stdin, p.ownEnd, p.Stdout, p.Stderr} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// Program is a program that the server runs in a container beside its main one.
type Program struct {
	// Container is the container's id.
	Container string
	// Args is the Windows program's own command line.
	Args []string
	// Stdin may be nil, as may be Stdout and Stderr.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Resize carries the sizes of the terminal. It may be nil.
	Resize <-chan [2]uint16

	report string
}

// Refuse reports that Windows would not start the program.
func (p Program) Refuse(code uint32, words string) error {
	return writeReport(p.report, fmt.Sprintf("failed %d %s\n", code, words))
}

// Started reports that the program runs.
func (p Program) Started() error {
	return writeReport(p.report, fmt.Sprintf("started %d\n", startedPID))
}

// writeReport adds to the file in which mullion-run.exe tells how its program fares. Without a path it does nothing.
func writeReport(path, text string) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// argument returns the value of mullion-run.exe's option name; "" without one.
func argument(args []string, name string) string {
	if i := slices.Index(args, name); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

// programOf returns the Windows program's command line: what follows "--", or everything.
func programOf(args []string) []string {
	return args[slices.Index(args, "--")+1:]
}

// machinePath returns where a path of a container's working folder lies on the machine.
func machinePath(c engine.Container, path string) string {
	if rest, inside := strings.CutPrefix(path, engine.WorkDirTarget); inside {
		return filepath.Join(c.WorkDir, rest)
	}
	return path
}
