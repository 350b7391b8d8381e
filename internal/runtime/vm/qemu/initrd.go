package qemu

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Where the guest's files lie; package guest has the same paths.
const (
	guestRunc    = "bin/runc"
	guestModules = "lib/modules"
)

// WriteInitrd writes the guest's initial file system to a file: the agent as /init, runc, the modules and a console.
func (p Parts) WriteInitrd(path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()

	buffered := bufio.NewWriter(f)
	a := archive{w: buffered}
	for _, dir := range []string{"bin", "dev", "lib", guestModules} {
		a.add(entry{name: dir, mode: modeFolder | 0o755})
	}

	a.add(entry{
		name:  "dev/console",
		mode:  modeDevice | 0o600,
		major: 5,
		minor: 1,
	})

	a.addFile("init", p.Agent)
	a.addFile(guestRunc, p.Runc)
	for i, m := range p.Modules {
		a.addFile(fmt.Sprintf("%s/%02d-%s", guestModules, i, filepath.Base(m)), m)
	}

	a.add(entry{name: "TRAILER!!!"})
	if a.err != nil {
		return fmt.Errorf("write the guest's initial file system: %w", a.err)
	}

	return buffered.Flush()
}

// Kinds of files, of stat(2).
const (
	modeFolder = 0o040000
	modeDevice = 0o020000
	modeFile   = 0o100000
)

// archive is a cpio archive in the form that the kernel unpacks
// (https://docs.kernel.org/driver-api/early-userspace/buffer-format.html). After an error nothing more is written.
type archive struct {
	w    io.Writer
	last int // inode number
	err  error
}

type entry struct {
	name         string
	mode         int
	major, minor int
	size         int64
	content      io.Reader
}

func (a *archive) addFile(name, path string) {
	f, err := os.Open(path)
	if err != nil {
		a.err = errors.Join(a.err, err)
		return
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		a.err = errors.Join(a.err, err)
		return
	}

	a.add(entry{
		name:    name,
		mode:    modeFile | 0o755,
		size:    info.Size(),
		content: f,
	})
}

func (a *archive) add(e entry) {
	if a.err != nil {
		return
	}

	a.last++
	header := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		a.last, e.mode, 0, 0, 1, 0, e.size, 0, 0, e.major, e.minor, len(e.name)+1, 0, e.name)
	a.write([]byte(header + zeros(int64(len(header)))))
	if e.content != nil {
		_, err := io.CopyN(a.w, e.content, e.size)
		a.err = errors.Join(a.err, err)
		a.write([]byte(zeros(e.size)))
	}
}

// zeros pad to a multiple of four bytes.
func zeros(size int64) string { return "\x00\x00\x00"[:(4-size%4)%4] }

func (a *archive) write(data []byte) {
	if a.err == nil {
		_, a.err = a.w.Write(data)
	}
}
