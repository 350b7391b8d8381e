// Package memtrim keeps small what a process that mostly sleeps has of the machine's memory. Its start touches nearly
// all of the program and makes garbage; what follows needs little of either.
package memtrim

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// percent is the garbage collector's percentage (GOGC).
const percent = 30

// settled is how long after its start a process is past what only its start needs.
const settled = time.Minute

// AfterStart collects garbage earlier than Go does by itself, and once, when the process has settled, gives back what
// its start has used. It returns then, or when ctx is over.
func AfterStart(ctx context.Context, log *slog.Logger) {
	debug.SetGCPercent(percent)

	select {
	case <-ctx.Done():
		return
	case <-time.After(settled):
	}
	if err := Release(); err != nil {
		log.Warn("this process keeps memory that only its start has used", "error", err)
	}
}

// mapping is a stretch of a process's memory that shows what is in the program's file, unchanged.
type mapping struct{ from, to uintptr }

// Release gives what the process does not use to the kernel: memory without content, and the pages of its program. Of
// those the kernel keeps what it has room for, and the process sees them again when it uses them.
func Release() error {
	debug.FreeOSMemory()

	mappings, err := own()
	if err != nil {
		return err
	}
	for _, m := range mappings {
		if _, _, e := unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED); e != 0 {
			return fmt.Errorf("give back the program's pages from %#x to %#x: madvise: %w", m.from, m.to, e)
		}
	}

	return nil
}

// own returns the mappings of this process.
func own() ([]mapping, error) {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil, fmt.Errorf("learn this program's path: %w", err)
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return nil, fmt.Errorf("learn what this process has mapped: %w", err)
	}
	return read(bytes.NewReader(maps), program)
}

// read finds the program's code and constants in what /proc/PID/smaps says. What may be written is none of them, and
// what was written before (by a linker, or a debugger) is none either: it would be lost.
func read(smaps io.Reader, program string) ([]mapping, error) {
	var found []mapping
	var now mapping
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), " ")
		switch {
		case name == "Anonymous:":
			if now.to > now.from && strings.TrimSpace(rest) == "0 kB" {
				found = append(found, now)
			}
		case !strings.HasSuffix(name, ":"):
			var err error
			if now, err = begin(name, rest, program); err != nil {
				return nil, fmt.Errorf("read %q of what this process has mapped: %w", lines.Text(), err)
			}
		}
	}

	return found, lines.Err()
}

// begin reads the first line of a mapping. One of something else than the program's code and constants is empty.
//
//	00400000-0191c000 r-xp 00000000 fe:00 1048602                 /usr/bin/mullion
func begin(addresses, rest, program string) (mapping, error) {
	fields := strings.SplitN(rest, " ", 5)
	if len(fields) < 5 || strings.TrimLeft(fields[4], " ") != program {
		return mapping{}, nil
	}
	if rights := fields[0]; rights != "r-xp" && rights != "r--p" {
		return mapping{}, nil
	}
	return stretch(addresses)
}

// stretch reads FROM-TO, which are hexadecimal.
func stretch(text string) (mapping, error) {
	from, to, _ := strings.Cut(text, "-")
	first, err := strconv.ParseUint(from, 16, 64)
	if err != nil {
		return mapping{}, err
	}
	end, err := strconv.ParseUint(to, 16, 64)
	if err != nil {
		return mapping{}, err
	}
	return mapping{uintptr(first), uintptr(end)}, nil
}
