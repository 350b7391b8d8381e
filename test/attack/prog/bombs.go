package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// bomb takes as much as it can of something that a machine has an end of.
type bomb struct {
	// most is how many times a container may take it.
	most int
	// take takes once more; a negative answer is an error number, and the end.
	take func(n int) int
}

// spawn starts a process that shares this one's memory and only waits, so that thousands cost little. It is in
// raw_amd64.s.
func spawn() int

const chunk, fewest = 1 << 20, 16

// bombs returns all bombs, for a container with 256 MiB of memory. What has no end of its own ends with that memory,
// and so does the container then.
func bombs() map[string]bomb {
	var taken [][]byte
	return map[string]bomb{
		"processes": {4096, func(int) int { return spawn() }},
		"inotify":   {8, func(int) int { return call(sysInotifyInit) }},
		"timers": {4096, func(int) int {
			return call(sysTimerCreate, 0, 0, make([]byte, 8))
		}},
		"temporary-files": {256, fill("/tmp/bomb")},
		"shared-memory":   {64, fill("/dev/shm/bomb")},
		"handles":         {1 << 20, func(int) int { return call(sysOpen, "/dev/null", oRDONLY, 0) }},
		"memory": {256, func(int) int {
			b := make([]byte, chunk)
			for i := range b {
				b[i] = byte(i)
			}
			taken = append(taken, b)
			return 0
		}},
	}
}

// fill appends to a file, a chunk each time.
func fill(path string) func(int) int {
	content := make([]byte, chunk)
	return func(int) int {
		return with(path, oWRONLY|0o100|0o2000, func(fd int) int { // O_CREAT, O_APPEND
			return call(sysWrite, fd, content, len(content))
		})
	}
}

// until takes until there is no more, or the most, and returns how often that was, and the last answer.
func (b bomb) until(most int) (n, answer int) {
	for arguments := len(kept); n < most; n++ {
		answer = b.take(n)
		kept = kept[:arguments] // or they would be what the memory ends with
		if answer < 0 {
			break
		}
	}
	return n, answer
}

// explode takes until there is no more, or twice as often as it may.
func explode(name string) error {
	b, ok := bombs()[name]
	if !ok {
		return fmt.Errorf("no bomb %q", name)
	}
	n, answer := b.until(2 * b.most)
	return json.NewEncoder(os.Stdout).Encode(result{
		Name:   "bomb/" + name,
		Answer: fmt.Sprintf("%d times, then %d", n, answer),
		Held:   n <= b.most && n >= min(b.most, fewest), // with fewer it was no bomb
	})
}
