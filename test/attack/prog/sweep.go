package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// fork makes a process that goes on with a copy of everything, but only of the thread that calls it: it may make system
// calls, and has to end by one. It is in raw_amd64.s.
func fork() int

// taken says what a starver got. It is a line of output.
type taken struct {
	Name string `json:"name"`
	// Got is how often it took, and Answer the last one.
	Got, Answer int
	// Killed says that it was ended, as one is for want of memory.
	Killed bool `json:",omitempty"`
	// Signal is by which signal it was ended before it said what it got: 14 if it hung.
	Signal int `json:",omitempty"`
	// Mebibytes is how much less memory the machine had free at the end; others take and give, too.
	Mebibytes int
	// Processes is how many it took for it, each with as many descriptors as one may have.
	Processes int
	// Milliseconds is how long it took.
	Milliseconds int64
}

// row is what a test has to know of a starver.
type row struct {
	Name            string
	Ask, Most, Root int
}

func rows() []row {
	var all []row
	for _, s := range starvations() {
		all = append(all, row{s.name, s.ask, s.most, s.root})
	}
	return all
}

// sweep has the starvers that are named, or whose resource is, take one after the other: each in a process of its own,
// whose end gives back what it took. amount is how much: "ask", "root" or "few".
func sweep(amount string, names []string) error {
	runtime.LockOSThread()
	debug.SetGCPercent(-1) // a copy has no other thread to collect by

	out := json.NewEncoder(os.Stdout)
	for _, s := range starvations() {
		resource, _, _ := strings.Cut(s.name, "/")
		if len(names) > 0 && !slices.Contains(names, s.name) && !slices.Contains(names, resource) {
			continue
		}
		most := map[string]int{"ask": s.ask, "root": s.root, "few": 8}[amount]
		if most == 0 {
			continue
		}
		got, err := inCopy(s, most)
		for again := 0; err == nil && got.Signal == hung && again < 3; again++ {
			got, err = inCopy(s, most)
		}
		if err != nil {
			return fmt.Errorf("take %s: %w", s.name, err)
		}
		if err := out.Encode(got); err != nil {
			return err
		}
	}
	return nil
}

// hung is the signal that stands for a copy that did not end: a thread that the copy does not have may have held a lock
// of Go's memory. It is ended after so many milliseconds, which are more than any starver needs.
const hung, patience = 14, 15000

// inCopy has a starver take in a process of its own.
func inCopy(s starver, most int) (taken, error) {
	begin := time.Now()
	ends := make([]byte, 8)
	if code := call(sysPipe2, ends, 0); code < 0 {
		return taken{}, fmt.Errorf("make a pipe: %d", code)
	}
	read, write := int(binary.LittleEndian.Uint32(ends)), second(ends)
	defer call(sysClose, read)

	pid := fork()
	if pid == 0 {
		takeAndEnd(s, most, write)
	}
	call(sysClose, write)
	if pid < 0 {
		return taken{}, fmt.Errorf("fork: %d", pid)
	}

	said, status := make([]byte, 4*8), make([]byte, 4)
	answer := eintr // the scheduler sends signals to a thread that is busy for long
	for answer == eintr && time.Since(begin).Milliseconds() < patience {
		answer = call(sysPoll, words(uint32(read), 1), 1, patience/10) // POLLIN
		if answer == 0 {
			answer = eintr
		}
	}
	isHung := answer == eintr
	if isHung {
		call(sysKill, -pid, 9)
		call(sysKill, pid, 9)
	}
	n := call(sysRead, read, said, len(said))
	if code := call(sysWait4, pid, status, waitAll, 0); code < 0 {
		return taken{}, fmt.Errorf("wait: %d", code)
	}

	got := taken{Name: s.name, Milliseconds: time.Since(begin).Milliseconds(), Killed: n < len(said)}
	if got.Killed {
		got.Signal = int(status[0] & 0x7f)
		if isHung {
			got.Signal = hung
		}
	} else {
		for i, field := range []*int{&got.Got, &got.Answer, &got.Mebibytes, &got.Processes} {
			*field = int(int64(binary.LittleEndian.Uint64(said[8*i:])))
		}
	}
	return got, nil
}

// report is the descriptor by which a copy says what it got. It knows no others: those of the program are closed.
const report = 3

// takeAndEnd is what a copy does: it is the first to be ended for want of memory, and says what it got.
func takeAndEnd(s starver, most, write int) {
	with("/proc/self/oom_score_adj", oWRONLY, func(fd int) int { return call(sysWrite, fd, "1000", 4) })
	call(sysSetpgid, 0, 0)
	call(sysDup2, write, report)

	free := freeMemory()
	n, answer, processes := takeByMany(s, most)

	said := slices.Concat(offset(n), offset(answer), offset((free-freeMemory())/chunk), offset(processes))
	call(sysWrite, report, said, len(said))
	endAll()
}

// endAll ends a copy, and all that it has started.
func endAll() {
	call(sysKill, 0, 9)
	for {
		call(sysExitGroup, 0)
	}
}

// takeByMany takes on in another process when one has all the descriptors that it may have.
func takeByMany(s starver, most int) (n, answer, processes int) {
	const noMore = -24 // EMFILE
	for processes = 1; ; processes++ {
		call(sysCloseRange, report+1, 1<<31, 0)
		take := s.take()
		got := 0
		got, answer = bomb{take: func(m int) int { return take(n + m) }}.until(most - n)
		n += got
		if answer != noMore || n >= most || s.most != byMemory || got == 0 {
			return n, answer, processes
		}

		pid := fork()
		if pid < 0 {
			return n, pid, processes
		}
		if pid > 0 {
			call(sysWait4, pid, make([]byte, 4), waitAll, 0)
			endAll()
		}
	}
}

// freeMemory is how much memory the machine has free.
func freeMemory() int {
	info := make([]byte, 112)
	call(sysSysinfo, info)
	return int(binary.LittleEndian.Uint64(info[40:]) + binary.LittleEndian.Uint64(info[56:]))
}

// keep takes as much as it gets, says how much, and keeps it for an hour.
func keep(name string) error {
	s, ok := find(name)
	if !ok {
		return fmt.Errorf("no starver %q", name)
	}
	debug.SetGCPercent(-1)
	n, answer := bomb{take: s.take()}.until(s.ask)
	err := json.NewEncoder(os.Stdout).Encode(taken{Name: name, Got: n, Answer: answer})
	if err == nil {
		time.Sleep(math.MaxInt64)
	}
	return err
}
