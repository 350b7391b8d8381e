// Package partlog owns how the logs of a cluster's parts are read: which there are, their ends, and what is added to
// them. It does not write them, and does not know who reads.
package partlog

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Names returns the names of the parts that have a log in a folder, for example "kubelet/win-1".
func Names(dir string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".log") {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		names = append(names, strings.TrimSuffix(rel, ".log"))
		return err
	})
	return names, err
}

// File returns the log of a part that Names has named.
func File(dir, name string) string { return filepath.Join(dir, name+".log") }

// followEvery is how often it is looked for what is added.
const followEvery = 300 * time.Millisecond

// All is the tail of a log that has everything.
const All = -1

// Print copies a log: its last lines, or All, and with follow what is added until ctx ends, also to the file that takes
// its place when it is rotated.
func Print(ctx context.Context, w io.Writer, path string, tail int, follow bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // f may be another file by then
	if tail >= 0 {
		if err := seekTail(f, tail); err != nil {
			return err
		}
	}

	tick := time.NewTicker(followEvery)
	defer tick.Stop()

	for {
		next := rotated(f, path) // looked for before the rest of f is read, after which nothing is added to it
		if _, err := io.Copy(w, onlyReader{f}); err != nil {
			return errors.Join(err, closed(next))
		}
		if next != nil {
			_ = f.Close() // only read
			f = next
			continue
		}

		if !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// onlyReader hides what else a file can do: io.Copy is to write in pieces.
type onlyReader struct{ io.Reader }

// block is how much is read at a time from the end of a log.
const block = 64 << 10

// seekTail goes to the start of the last lines. What is after the last line's end is a line, too.
func seekTail(f *os.File, lines int) error {
	at, err := f.Seek(0, io.SeekEnd)
	if err != nil || lines == 0 {
		return err
	}

	buffer := make([]byte, block)
	left, last := lines, true
	for at > 0 {
		piece := buffer[:min(at, block)]
		at -= int64(len(piece))
		if _, err := f.ReadAt(piece, at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if last { // the end of the last line begins none
			piece = bytes.TrimSuffix(piece, []byte("\n"))
			last = false
		}

		for i := bytes.LastIndexByte(piece, '\n'); i >= 0; i = bytes.LastIndexByte(piece[:i], '\n') {
			if left--; left == 0 {
				_, err := f.Seek(at+int64(i)+1, io.SeekStart)
				return err
			}
		}
	}

	_, err = f.Seek(0, io.SeekStart)
	return err
}

// rotated opens the file at path, if it is another one than f; else it returns nil.
func rotated(f *os.File, path string) *os.File {
	was, err := f.Stat()
	if err != nil {
		return nil
	}
	next, err := os.Open(path)
	if err != nil {
		return nil // between two names
	}
	if is, err := next.Stat(); err != nil || os.SameFile(was, is) {
		_ = next.Close() // only opened
		return nil
	}
	return next
}

func closed(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}
