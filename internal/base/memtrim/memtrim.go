// Package memtrim keeps small what a process that does little has of the machine's memory. Its start touches nearly all
// of the program and makes garbage; what follows needs little of either.
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

// sleeping is the garbage collector's percentage (GOGC) of a process that mostly sleeps.
const sleeping = 30

// settled is how long after its start a process is past what only its start needs.
const settled = time.Minute

// AfterStart is for a process that mostly sleeps: it collects garbage earlier than Go does by itself, and once, when
// the process has settled, gives back what its start has used. It returns then, or when ctx is over.
func AfterStart(ctx context.Context, log *slog.Logger) {
	debug.SetGCPercent(sleeping)

	if wait(ctx, settled) {
		release(log)
	}
}

// every is how often Keep gives back what a process has used.
const every = 15 * time.Second

// Keep is for a process that always does a little: until ctx is over, it again and again collects garbage and gives
// back what the process has used. Each collection looks up all functions that any goroutine is in, so the kernel maps
// a third of the program, which stays as long as the machine has room. Collections by a low GOGC come every few
// seconds and keep it there; these come more rarely, and each is followed by giving back.
func Keep(ctx context.Context, log *slog.Logger) {
	for wait(ctx, every) {
		release(log)
	}
}

// wait waits, and reports false when ctx is over first.
func wait(ctx context.Context, how time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(how):
		return true
	}
}

func release(log *slog.Logger) {
	if err := Release(); err != nil {
		log.Warn("this process keeps memory that it does not use", "error", err)
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
