package management

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/stream"
)

const (
	// lookAgain is how long Get-Content -Wait waits before it looks at its file again. Windows' own looks at each
	// change, and twice a second (FileSystemContentReaderWriter.WaitForChanges).
	lookAgain = 250 * time.Millisecond
	// mostOfLine is how many bytes a line has at most while a file is followed: what is longer is passed on in parts.
	mostOfLine = 16 << 20
	// atOnce is how many bytes of a followed file are read at once.
	atOnce = 256 << 10
)

// follow carries out Get-Content -Wait: it outputs the lines of a file, and then those that are appended. It ends when
// there are as many as -TotalCount says, when the pipeline needs no more, by Ctrl+C, or with an error when the file is
// deleted
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.management/get-content?view=powershell-5.1).
func follow(c *cmdlet.Call, path string, first, last int64, out *lines) error {
	if c.Flags["raw"] {
		return object.Misfit("AmbiguousParameterSet",
			"The parameters Raw and Wait cannot be specified in the same command.")
	}

	put := func(line string) error {
		if first--; first < 0 {
			return errWhole
		}
		if err := out.put(line); err != nil {
			return err
		}
		if first == 0 {
			return errWhole
		}

		return nil
	}

	f := &followed{path: path, encoding: contentEncoding(c.Text("encoding"))}
	if err := f.begin(first, last, put); err != nil {
		return whole(err, out)
	}

	for grew := true; ; {
		if err := out.flush(); err != nil {
			return err
		}
		if grew && c.State.Settle != nil {
			c.State.Settle()
		}

		select {
		case <-c.State.Context.Done():
			return c.State.Context.Err()
		case <-time.After(lookAgain):
		}

		var err error
		if grew, err = f.read(put); err == nil && !grew {
			err = f.rest(put)
		}
		if err != nil {
			return whole(err, out)
		}
	}
}

// errWhole says that there are as many lines as were asked for.
var errWhole = errors.New("all lines are there")

// whole passes on the lines that are left when a file is followed no more.
func whole(err error, out *lines) error {
	if errors.Is(err, errWhole) {
		err = nil
	}
	return errors.Join(out.flush(), err)
}

// followed is a file that grows. It is opened anew each time, so that whoever writes it can rename or delete it.
type followed struct {
	path     string
	encoding *stream.Encoding // nil: UTF-8
	last     fs.FileInfo      // the file when it was looked at last, nil before
	at       int64            // up to where it is read
	unread   []byte           // of a line whose end is not there yet
	marked   *stream.Encoding // by its mark
	wide     bool             // it has UTF-16
	big      bool             // with the high byte first
	begun    bool             // its mark, if there is one, is known
}

// begin reads what is there: the first lines up to a number, or the last ones. Then put gets the others.
func (f *followed) begin(first, last int64, put func(string) error) error {
	if first == 0 {
		return errWhole
	}
	if last == math.MaxInt64 {
		_, err := f.read(put)
		return err
	}

	var kept []string
	_, err := f.read(func(line string) error {
		if kept = append(kept, line); int64(len(kept)) > 2*last+1024 {
			kept = append([]string{}, kept[int64(len(kept))-last:]...)
		}
		return nil
	})
	if err != nil {
		return err
	}

	for _, line := range kept[max(int64(len(kept))-last, 0):] {
		if err := put(line); err != nil {
			return err
		}
	}

	return nil
}

// read passes on the lines that have been appended. A file that is another one now, or shorter, is read from its
// beginning. grew says that there was something.
func (f *followed) read(put func(string) error) (grew bool, err error) {
	file, err := f.open()
	if err != nil {
		return false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return false, err
	}

	if f.last != nil && (!os.SameFile(f.last, info) || info.Size() < f.at) {
		if err := f.rest(put); err != nil {
			return false, err
		}
		f.at, f.begun = 0, false
	}

	f.last = info
	if info.Size() == f.at {
		return false, nil
	}

	if _, err := file.Seek(f.at, io.SeekStart); err != nil {
		return false, err
	}

	for left := info.Size() - f.at; left > 0; {
		part := make([]byte, min(left, atOnce))
		n, err := file.Read(part)
		f.at += int64(n)
		left -= int64(n)
		f.unread = append(f.unread, part[:n]...)
		grew = grew || n > 0
		if err := f.lines(put); err != nil {
			return grew, err
		}

		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return grew, err
		}
	}

	return grew, nil
}

// open opens the file. One that is being replaced may be away for a moment.
func (f *followed) open() (*os.File, error) {
	file, err := os.Open(f.path)
	if f.last != nil && errors.Is(err, fs.ErrNotExist) {
		time.Sleep(lookAgain) //nolint:forbidigo // nothing tells when it is back
		file, err = os.Open(f.path)
	}
	return file, err
}

// lines passes on the lines that are whole.
func (f *followed) lines(put func(string) error) error {
	if !f.begun && len(f.unread) < len("\xEF\xBB\xBF") {
		return nil
	}

	f.mark()
	for {
		end := f.lineEnd()
		if end < 0 && len(f.unread) >= mostOfLine {
			end = mostOfLine
		}
		if end < 0 {
			return nil
		}

		line := f.unread[:end]
		f.unread = f.unread[end:]
		if err := put(f.text(line)); err != nil {
			return err
		}
	}
}

// rest passes on a line without an end, because nothing was added to it for a while.
func (f *followed) rest(put func(string) error) error {
	if len(f.unread) == 0 {
		return nil
	}
	f.mark()
	line := f.unread
	f.unread = nil
	return put(f.text(line))
}

// mark takes the mark of an encoding away from the file's beginning.
func (f *followed) mark() {
	if f.begun {
		return
	}

	f.begun = true
	f.marked = nil
	f.wide, f.big = false, false
	for _, one := range []struct{ mark, name string }{
		{"\xEF\xBB\xBF", "utf-8"},
		{"\xFF\xFE", "utf-16"},
		{"\xFE\xFF", "utf-16BE"},
	} {
		if rest, is := bytes.CutPrefix(f.unread, []byte(one.mark)); is {
			f.unread, f.marked = rest, stream.EncodingNamed(one.name)
			break
		}
	}

	if f.marked == nil {
		f.marked = f.encoding
	}
	if f.marked != nil {
		f.wide = strings.HasPrefix(f.marked.Web, "utf-16")
		f.big = f.marked.Web == "utf-16BE"
	}
}

// lineEnd returns where the next line begins, -1 if the first has no end yet.
func (f *followed) lineEnd() int {
	if !f.wide {
		if i := bytes.IndexByte(f.unread, '\n'); i >= 0 {
			return i + 1
		}
		return -1
	}

	newline := []byte{'\n', 0}
	if f.big {
		newline = []byte{0, '\n'}
	}

	for at := 0; ; {
		i := bytes.Index(f.unread[at:], newline)
		if i < 0 {
			return -1
		}
		if at += i; at%2 == 0 {
			return at + 2
		}
		at++
	}
}

// text returns a line without its end.
func (f *followed) text(line []byte) string {
	text := string(line)
	if f.marked != nil {
		text = f.marked.Decode(line)
	}
	return strings.TrimRight(text, "\r\n")
}
