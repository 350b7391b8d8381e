package stream

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// output is the read end of a FIFO that a container writes to.
type output struct {
	*os.File
	begun bool // there was a writer
}

// openOutput opens the FIFO at path, made if it is not there, without waiting for a writer. What is written from then
// on is kept, also that of a writer who is gone before the first Read: the content of a FIFO lives as long as one end
// is open.
func openOutput(path string) (*output, error) {
	if err := unix.Mkfifo(path, 0o600); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, fmt.Errorf("make FIFO %q: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return &output{File: f}, nil
}

// Read waits for the first writer. The end comes when the last one is gone.
func (o *output) Read(p []byte) (int, error) {
	if !o.begun {
		if err := o.awaitWriter(); err != nil {
			return 0, err
		}
		o.begun = true
	}
	return o.File.Read(p)
}

// awaitWriter returns when there is something to read or the last writer is gone. Before the first writer a read would
// show the end at once, while poll shows neither (https://man7.org/linux/man-pages/man7/fifo.7.html;
// https://github.com/torvalds/linux/blob/v6.12/fs/pipe.c, pipe_poll).
func (o *output) awaitWriter() error {
	conn, err := o.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Read(func(fd uintptr) (done bool) {
		for {
			ready, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			if !errors.Is(err, unix.EINTR) {
				return ready > 0 || err != nil // The read tells what is wrong.
			}
		}
	})
}
