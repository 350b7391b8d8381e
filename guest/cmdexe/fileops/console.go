package fileops

import (
	"errors"
	"io"
	"strings"

	"mullion.dev/mullion/guest/cmdexe/disk"
)

// open opens a file or a device to be read. What is typed at a console is edited, line by line.
func (e *Env) open(path string) (io.ReadCloser, error) {
	if !strings.EqualFold(disk.Device(path), "con") {
		return e.Disk.Open(path, disk.Read)
	}
	t := &typed{line: e.Line}
	if err := t.more(); errors.Is(err, errors.ErrUnsupported) {
		return e.Disk.Open(path, disk.Read)
	}
	return t, nil
}

// typed is what a person types at a console.
type typed struct {
	line func() (string, error)
	rest string
	err  error // comes after the rest
}

// more waits for a line.
func (t *typed) more() error {
	line, err := t.line()
	t.rest, t.err = line, err
	if err == nil {
		t.rest += "\r\n"
	}
	return err
}

// Read implements io.Reader.
func (t *typed) Read(p []byte) (int, error) {
	for t.rest == "" && t.err == nil {
		_ = t.more() // it is kept
	}
	if t.rest == "" {
		return 0, t.err
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (*typed) Close() error { return nil }
