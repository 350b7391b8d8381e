package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// taken says what a starver got. It is a line of output.
type taken struct {
	Name string `json:"name"`
	// Got is how often it took, and Answer the last one.
	Got, Answer int
	// Killed says that it was ended before it said what it got, as one is for want of memory.
	Killed bool `json:",omitempty"`
	// Hung says that it did not end.
	Hung bool `json:",omitempty"`
	// Mebibytes is how much less memory the machine had free at the end; others take and give, too.
	Mebibytes int
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

// patience is how long a starver may take.
const patience = time.Minute

// sweep has the starvers that are named, or whose resource is, take one after the other. What may be got is taken by a
// program of its own, whose end gives it back. amount is how much: "ask", "root" or "few".
func sweep(amount string, names []string) error {
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

		got, err := takes(s, most, amount)
		if err != nil {
			return fmt.Errorf("take %s: %w", s.name, err)
		}
		if err := out.Encode(got); err != nil {
			return err
		}
	}

	return nil
}

// takes has a starver take. What a container is refused needs no program of its own there.
func takes(s starver, most int, amount string) (taken, error) {
	if s.most == refused && amount == "ask" {
		return s.taken(most), nil
	}

	program, err := os.Executable()
	if err != nil {
		return taken{}, err
	}
	if runtime.GOOS == "linux" {
		program = "/proc/self/exe" // its folder may be hidden
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()

	begin := time.Now()
	cmd := exec.CommandContext(ctx, program, "take", s.name, strconv.Itoa(most))
	cmd.WaitDelay = time.Second
	said, err := cmd.Output()
	var got taken
	if json.Unmarshal(said, &got) == nil {
		return got, nil // it ends itself with all that it has started, and so by a signal
	}

	if len(said) > 0 {
		return got, fmt.Errorf("run it: %w, it says %q", err, said)
	}
	return taken{
		Name: s.name, Killed: true, Hung: ctx.Err() != nil, Milliseconds: time.Since(begin).Milliseconds(),
	}, nil
}

// taken has it take, until there is no more or the most.
func (s starver) taken(most int) taken {
	begin, free := time.Now(), freeMemory()
	n, answer := bomb{take: s.take()}.until(most)
	return taken{
		Name: s.name, Got: n, Answer: answer, Mebibytes: (free - freeMemory()) / chunk,
		Milliseconds: time.Since(begin).Milliseconds(),
	}
}

// take is the program of its own: it is the first to be ended for want of memory, says what it got, and ends with all
// that it has started.
func take(name, most string) error {
	s, ok := find(name)
	if !ok {
		return fmt.Errorf("no starver %q", name)
	}
	limit, err := strconv.Atoi(most)
	if err != nil {
		return err
	}

	with("/proc/self/oom_score_adj", oWRONLY, func(fd int) int { return call(sysWrite, fd, "1000", 4) })
	call(sysSetpgid, 0, 0)
	runtime.LockOSThread()

	if err := json.NewEncoder(os.Stdout).Encode(s.taken(limit)); err != nil {
		return err
	}
	for _, folder := range []string{"/tmp", "/dev/shm", "/run", "/run/mullion", "/dev"} { // what outlasts a program
		call(sysUnlink, folder+"/bomb")
	}

	call(sysKill, 0, 9)
	return nil
}

// freeMemory returns how much memory the machine has free.
func freeMemory() int {
	info := make([]byte, 112)
	call(sysSysinfo, info)
	return int(binary.LittleEndian.Uint64(info[40:]) + binary.LittleEndian.Uint64(info[56:]))
}

// keep takes as much as it gets, says how much, and keeps it for ever.
func keep(name string) error {
	s, ok := find(name)
	if !ok {
		return fmt.Errorf("no starver %q", name)
	}
	err := json.NewEncoder(os.Stdout).Encode(s.taken(s.ask))
	if err == nil {
		time.Sleep(math.MaxInt64)
	}
	return err
}
