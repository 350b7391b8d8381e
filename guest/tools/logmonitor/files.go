package logmonitor

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// patience is how long the last line of a file may stay without its end before it is printed.
const patience = time.Second

// follower follows the files of a folder.
type follower struct {
	fileSource
	print    func(name, line string)
	complain func(format string, args ...any)

	given    bool      // up: the folder did not come in time
	until    time.Time // when it is given up; zero: never, or not looked for yet
	fromHead bool      // the folder came later: its files are new
	looks    map[string]look
	tails    map[fileID]*tail
	failed   map[string]bool // the files that could not be read, and of which that was said
}

// look is what was seen of a file at a name.
type look struct {
	id   fileID
	size int64
	mod  time.Time
}

// tail is how far a file is read. It goes with the file where that is renamed.
type tail struct {
	name    string
	enc     encoding
	offset  int64
	pending []byte // of a line without its end
	grown   time.Time
}

// found is a file of the folder.
type found struct {
	name string // in the folder
	info fs.FileInfo
}

// poll prints what the files got since the last call. The first call only remembers where they end. The last one also
// prints what has no end of line.
func (f *follower) poll(now time.Time, last bool) {
	if f.given || (f.looks == nil && !f.there(now)) {
		return
	}
	first := f.looks == nil && !f.fromHead
	if f.tails == nil {
		f.tails, f.failed = map[fileID]*tail{}, map[string]bool{}
	}

	matching, others := f.list()
	looks := make(map[string]look, len(matching))
	seen := map[fileID]bool{}
	for _, file := range matching {
		l, known := f.looks[file.name]
		if !known || l.size != file.info.Size() || !l.mod.Equal(file.info.ModTime()) {
			if id, ok := f.read(file.name, now, first); ok {
				l = look{id, file.info.Size(), file.info.ModTime()}
			} else if !known {
				continue
			}
		}

		looks[file.name] = l
		seen[l.id] = true
	}

	f.looks = looks
	f.leave(seen, others, now)
	for _, t := range f.tails {
		if last || now.Sub(t.grown) >= patience {
			f.flush(t)
		}
	}
}

// there reports whether the folder is there, and gives it up when it has been waited for long enough.
func (f *follower) there(now time.Time) bool {
	if info, err := os.Stat(f.dir); err == nil && info.IsDir() {
		return true
	}
	if !f.fromHead && f.wait >= 0 {
		f.until = now.Add(f.wait)
	}
	f.fromHead = true
	if f.wait >= 0 && !now.Before(f.until) {
		f.given = true
		f.complain("ERROR: The directory %s is not there after %v (waitInSeconds). Its files are not monitored.", f.dir, f.wait)
	}
	return false
}

// list lists the files whose names fit the filter, and the others.
func (f *follower) list() (matching, others []found) {
	_ = filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // a folder that cannot be listed, or went, has no files for now
		}
		if d.IsDir() {
			if path != f.dir && !f.recursive {
				return fs.SkipDir
			}
			return nil
		}

		info, err := d.Info()
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			info, err = os.Stat(path)
		}
		if err != nil || !info.Mode().IsRegular() {
			return nil //nolint:nilerr // it went meanwhile
		}

		name, err := filepath.Rel(f.dir, path)
		if err != nil {
			return err
		}
		if f.filter.MatchString(d.Name()) {
			matching = append(matching, found{name, info})
		} else {
			others = append(others, found{name, info})
		}

		return nil
	})

	return matching, others
}

// read prints what a file got, or only remembers where it ends.
func (f *follower) read(name string, now time.Time, skip bool) (fileID, bool) {
	file, err := open(filepath.Join(f.dir, name))
	if err == nil {
		defer file.Close()
		var id fileID
		id, err = identify(file)
		if err == nil {
			err = f.readOn(file, id, name, now, skip)
		}
		if err == nil {
			delete(f.failed, name)
			return id, true
		}
	}
	if !errors.Is(err, fs.ErrNotExist) && !f.failed[name] {
		f.failed[name] = true
		f.complain("ERROR: Reading %s: %s It is tried again.", filepath.Join(f.dir, name), sentence(err))
	}

	return fileID{}, false
}

// readOn reads an open file from where its tail is.
func (f *follower) readOn(file *os.File, id fileID, name string, now time.Time, skip bool) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}

	t := f.tails[id]
	if t == nil {
		t = &tail{}
		f.tails[id] = t
		if skip {
			t.offset = info.Size()
		}
	}

	t.name = name
	if info.Size() < t.offset { // it was emptied, and written anew
		f.flush(t)
		*t = tail{name: name}
	}
	if err := t.recognise(file); err != nil || t.enc == unknown {
		return err
	}

	buffer := make([]byte, 64<<10)
	for {
		n, err := file.ReadAt(buffer, t.offset)
		if n > 0 {
			t.grown = now
			t.offset += int64(n)
			f.take(t, buffer[:n])
		}
		if errors.Is(err, io.EOF) || (err == nil && n == 0) {
			return nil
		}

		if err != nil {
			return err
		}
	}
}

// recognise tells the encoding by the first bytes.
func (t *tail) recognise(file io.ReaderAt) error {
	if t.enc != unknown {
		return nil
	}
	head := make([]byte, 3)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}

	enc, size := markOf(head[:n])
	t.enc = enc
	t.offset = max(t.offset, size)
	if enc == utf16Little || enc == utf16Big {
		t.offset &^= 1
	}

	return nil
}

// take prints the lines of what a file got.
func (f *follower) take(t *tail, text []byte) {
	lines, rest := t.enc.lines(append(t.pending, text...))
	t.pending = append([]byte(nil), rest...)
	for _, line := range lines {
		f.show(t, line)
	}
}

// flush prints a line that has no end.
func (f *follower) flush(t *tail) {
	if len(t.pending) > 0 {
		f.show(t, t.enc.decode(t.pending))
		t.pending = nil
	}
}

func (f *follower) show(t *tail, line string) {
	if line != "" {
		f.print(t.name, line)
	}
}

// leave ends the tails of files that are no longer seen. One that was renamed so that its name does not fit any more,
// as rotation does, is read to its end first.
func (f *follower) leave(seen map[fileID]bool, others []found, now time.Time) {
	gone := map[fileID]*tail{}
	for id, t := range f.tails {
		if !seen[id] {
			gone[id] = t
		}
	}

	for _, other := range others {
		if len(gone) == 0 {
			break
		}
		file, err := open(filepath.Join(f.dir, other.name))
		if err != nil {
			continue
		}

		if id, err := identify(file); err == nil && gone[id] != nil {
			_ = f.readOn(file, id, gone[id].name, now, false) // what it has is printed; it is not looked at again
			f.flush(f.tails[id])
			delete(f.tails, id)
			delete(gone, id)
		}
		_ = file.Close()
	}

	for id, t := range gone {
		f.flush(t)
		delete(f.tails, id)
	}
}
