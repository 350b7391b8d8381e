package main

import (
	"fmt"
	"os"
	"strconv"
)

// spawn starts a Linux process, as a Windows program can: it returns its id, or an error number below 0.
func spawn() int

// tasks starts Linux processes without end, until Linux refuses one.
func tasks() {
	for n := 0; ; n++ {
		if r := spawn(); r < 0 {
			fmt.Printf("refused after %d with error %d\n", n, -r)
			return
		}
	}
}

// bomb starts a Linux process that starts others without end, each of which does the same. It returns the process, or
// an error number below 0.
func bomb() int

// inotify makes an inotify instance of Linux: it returns its descriptor, or an error number below 0.
func inotify() int

// watchers makes inotify instances without end, until Linux refuses one.
func watchers() {
	for n := 0; ; n++ {
		if r := inotify(); r < 0 {
			fmt.Printf("refused after %d with error %d\n", n, -r)
			return
		}
	}
}

// fill writes to a file until it has so many MiB, or there is no room.
func fill(path, size string) {
	mib, _ := strconv.Atoi(size)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	n := 0
	for block := make([]byte, 1<<20); err == nil && n < mib; n++ {
		if _, err = f.Write(block); err != nil {
			break
		}
	}
	fmt.Printf("filled %d: %v\n", n, err)
}
