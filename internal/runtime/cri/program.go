package cri

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mullion.dev/mullion/internal/runtime/hostpipes"
	"mullion.dev/mullion/internal/windows/winargs"
)

// What this server and the Host Compute Service (package hcs) have in common: how a program of a container is started,
// as whom, with what environment, and how it fared. It is computed here alone.

// Program is a program of a container that is no pod's. Report and Env are Linux paths in the container.
type Program struct {
	// Report is the file to which mullion-run.exe writes how the program fared, Env the one with its environment.
	Report, Env string
	// Dir is the Windows path in which the program starts.
	Dir string
	// CommandLine is a whole command line, which Windows splits; "": the program and its arguments are Args, which are
	// one command line with Raw.
	CommandLine string
	Args        []string
	Raw         bool
	// Memory is how much the programs of the container may commit, in bytes; 0: there is no limit. Searches are its DNS
	// suffixes. Both are the container's, and said with its first program.
	Memory   int64
	Searches []string
	// Pipes are the named pipes of the host that the container has. They are said with its first program, too.
	Pipes []hostpipes.Pipe
	// Settle says that the registry is to be in the container's files once the program has ended.
	Settle bool
}

// Arguments returns the Linux command line that runs a program in a running container.
func (l Launch) Arguments(p Program) []string {
	args, raw := p.Args, p.Raw
	if p.CommandLine != "" {
		args, raw = []string{p.CommandLine}, true
	}
	return l.programArgs(runSpec{
		report:   p.Report,
		env:      p.Env,
		dir:      p.Dir,
		memory:   p.Memory,
		searches: p.Searches,
		pipes:    hostpipes.CommandLine(p.Pipes),
		raw:      raw,
		args:     args,
	})
}

// Foresee says of a program that Windows does not start why so, before anything is made for it: its command line is too
// long. What is counted is the line of mullion-run.exe, which has the program's and some 200 characters of its own. A
// longer one arrives cut off, or not at all.
func (l Launch) Foresee(p Program) Outcome { return l.foresee(l.Arguments(p)) }

func (l Launch) foresee(args []string) Outcome {
	if at := slices.Index(args, l.Run); l.Run == "" || at < 0 || winargs.Fits(args[at:]) {
		return Outcome{}
	}
	return Outcome{
		Failed:  true,
		Code:    winargs.TooLong,
		Message: winargs.TooLongText,
	}
}

// FirstArguments returns the Linux command line of PID 1 of a container, which runs the program.
func (l Launch) FirstArguments(p Program) []string {
	if l.Init == "" {
		return l.Arguments(p)
	}
	first := []string{l.Init}
	if p.Settle {
		first = append(first, "--settle", "--")
	}
	return append(first, l.Arguments(p)...)
}

// ListArguments returns the Linux command line that writes the processes of a container to a file, a Linux path in it,
// for ReadProcesses.
func (l Launch) ListArguments(file string) []string {
	return append(slices.Clone(l.Loader), l.Run, "--report", file, "--processes")
}

// Process is a process of a container, as its Windows knows it. The container says so of itself.
type Process struct {
	PID   uint32
	Image string // the file name of its program
	// Created is when it began, Kernel and User what it has used of processors since.
	Created      time.Time
	Kernel, User time.Duration
	// WorkingSet and Committed are its memory, in bytes.
	WorkingSet, Committed uint64
}

// The most of what a container says of its processes that is read.
const (
	maxProcesses   = 8192
	maxProcessText = 1 << 20
	// lastTime is that of the year 9999, in ticks of Windows: JSON has none that is later.
	lastTime = 2650467743999999999
	// epoch is the beginning of Windows' times, 1601, in seconds of Linux.
	epoch = -11644473600
)

// ReadProcesses reads what mullion-run.exe has written by ListArguments.
func ReadProcesses(file string) ([]Process, error) {
	f, err := openOwned(file)
	if err != nil {
		return nil, fmt.Errorf("read processes of container: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxProcessText))
	if err != nil {
		return nil, fmt.Errorf("read processes of container: %w", err)
	}

	var all []Process
	for line := range strings.Lines(string(text)) {
		if p, ok := parseProcess(strings.TrimSuffix(line, "\n")); ok && len(all) < maxProcesses {
			all = append(all, p)
		}
	}

	return all, nil
}

// parseProcess reads a line of mullion-run.exe: "process", six numbers and a name.
func parseProcess(line string) (Process, bool) {
	words := strings.SplitN(line, " ", 8)
	if len(words) != 8 || words[0] != "process" {
		return Process{}, false
	}

	var numbers [6]uint64
	for i := range numbers {
		n, err := strconv.ParseUint(words[1+i], 10, 63)
		if err != nil {
			return Process{}, false
		}
		numbers[i] = n
	}

	const second, tick = 1e7, 100
	most := uint64(math.MaxInt64 / tick)
	p := Process{
		PID:        uint32(numbers[0]),
		Image:      cleanText(words[7]),
		Created:    time.Unix(int64(min(numbers[1], lastTime)/second)+epoch, int64(numbers[1]%second)*tick).UTC(),
		Kernel:     time.Duration(min(numbers[2], most) * tick),
		User:       time.Duration(min(numbers[3], most) * tick),
		WorkingSet: numbers[4],
		Committed:  numbers[5],
	}

	return p, p.PID != 0 && numbers[0] <= math.MaxUint32
}

// Outcome is how a program of a container fared, as it says itself.
type Outcome struct {
	// Started says that the program runs, as the Windows process PID.
	Started bool
	PID     uint32
	// Failed says that it did not start. Code is Windows' error, and Message Windows' words for it.
	Failed  bool
	Message string
	// Exited says that it has ended, with Code.
	Exited bool
	Code   uint32
}

// ReadOutcome reads the report of a program. There is none until mullion-run.exe has written one.
func ReadOutcome(file string) (Outcome, error) {
	r, err := readReport(file)
	return Outcome{
		Started: r.started,
		PID:     r.pid,
		Failed:  r.failed,
		Message: r.message,
		Exited:  r.exited,
		Code:    r.code,
	}, err
}

// UserID returns the id in a container of a user that every container has, by its name on Windows.
func UserID(name string) (uint32, error) { return lookupUser(name) }

// Resolver returns the resolv.conf of a container.
func Resolver(dns DNS, asLinux bool) (string, error) { return windowsResolver(dns, asLinux) }

// Drive is the Linux path of C:\ in a container, in which its programs are started.
const Drive = driveRoot
