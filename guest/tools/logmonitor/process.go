package logmonitor

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// run runs a program, if there is one, until its end, and otherwise goes on until it is stopped. A program gets
// Windows' control events itself, so its end is waited for after one too.
func (m *monitor) run(line string, stop <-chan os.Signal) int {
	var ended chan int
	if line != "" {
		ended = make(chan int, 1)
		wait, err := m.start(line)
		if err != nil {
			m.complain("ERROR: Starting %s: %s", line, sentence(err))
			return exitCode(err)
		}
		stop = nil
		go func() { ended <- wait() }()
	}

	for took := time.Duration(0); ; {
		select {
		case code := <-ended:
			m.poll(true)
			return code
		case <-stop:
			m.poll(true)
			return 0

		case <-time.After(max(interval, 4*took)): // at most a fifth of the time is spent looking
			began := time.Now()
			m.poll(false)
			took = time.Since(began)
		}
	}
}

// exitCode returns the number of an error of Windows, or 1.
func exitCode(err error) int {
	if code, ok := errors.AsType[syscall.Errno](err); ok && code != 0 {
		return int(code)
	}
	return 1
}

// start starts a program and prints its output. The function that it returns waits for its end and returns its exit
// code.
func (m *monitor) start(line string) (wait func() int, err error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}

	end, err := m.system.Start(line, to)
	_ = to.Close()
	if err != nil {
		_ = from.Close()
		return nil, err
	}

	printed := make(chan struct{})
	go func() {
		defer close(printed)
		m.copy(from)
	}()

	return func() int {
		code, err := end()
		if err != nil {
			m.complain("ERROR: Waiting for %s: %s", line, sentence(err))
			code = 1
		}
		select {
		case <-printed:
		case <-time.After(leftover):
		}

		m.complain("INFO: Entrypoint process exit code: %d", code)
		return code
	}, nil
}

// copy prints the lines of a program's output.
func (m *monitor) copy(from io.Reader) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 2*mostPending)
	lines.Split(outputLine)
	for lines.Scan() {
		if text := utf8Text.decode(lines.Bytes()); text != "" {
			m.print(entry{
				from:    fromProcess,
				time:    time.Now(),
				message: text,
			}, m.config.process)
		}
	}
}

// outputLine splits output where there is a CR or LF, and where a line is too long.
func outputLine(data []byte, atEnd bool) (advance int, token []byte, err error) {
	i := bytes.IndexAny(data, "\r\n")
	switch {
	case i >= 0:
		return i + 1, data[:i], nil
	case len(data) >= mostPending || (atEnd && len(data) > 0):
		return len(data), data, nil
	}
	return 0, nil, nil
}
