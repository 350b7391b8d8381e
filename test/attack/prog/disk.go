package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// mebibyte is what is written at once.
const mebibyte = 1 << 20

// long is how often a mebibyte is written without the end of a line.
const long = 16

// disks returns what a container can have its node write to the disk.
func disks() map[string]func() error {
	return map[string]func() error{
		"files":   func() error { return fillFolder(`C:\fill`) },
		"volume":  func() error { return fillFolder(`C:\v\fill`) },
		"lines":   lines,
		"long":    longLines,
		"message": message,
		// What Windows' programs may take for nothing, or for another folder.
		"odd-names":     oddNames,
		"hidden-blocks": hiddenBlocks,
		"kubelets":      kubeletsFiles,
	}
}

// oddNames fills a folder whose name Windows does not have, beside one whose name leads to itself.
func oddNames() error {
	for _, name := range []string{`..\v`, "a*b", "a*b/\xff"} {
		if got := call(sysMkdir, "/Files/v/"+name, 0o777); got < 0 {
			return fmt.Errorf("make %q: %d", name, got)
		}
	}

	// Raw calls fill a disk of tens of gigabytes before anybody looks: a part of one is enough.
	content := bytes.Repeat([]byte("fill"), mebibyte/4)
	for i := range 512 {
		fd := call(sysOpen, "/Files/v/a*b/\xff/"+itoa(i), oRDWR|0o100, 0o666) // O_CREAT
		if fd < 0 {
			return fmt.Errorf("make file %d: %d", i, fd)
		}
		if got := call(sysWrite, fd, content, len(content)); got < 0 {
			return fmt.Errorf("write file %d: %d", i, got)
		}
		call(sysClose, fd)
		kept = nil
	}

	return serve()
}

// hiddenBlocks takes 256 MiB of the disk for a file that stays empty, and waits.
func hiddenBlocks() error {
	fd := call(sysOpen, "/Files/v/empty", oRDWR|0o100, 0o666)       // O_CREAT
	if got := call(sysFallocate, fd, 1, 0, 256*mebibyte); got < 0 { // FALLOC_FL_KEEP_SIZE
		return fmt.Errorf("allocate blocks: %d", got)
	}
	return serve()
}

// kubeletsFiles takes 256 MiB of the disk for each file that the kubelet has for the container, says what came of that,
// and waits.
func kubeletsFiles() error {
	for _, name := range []string{"/Files/windows/system32/drivers/etc/hosts", "/Files/dev/termination-log"} {
		got := with(name, oRDWR, func(fd int) int {
			return call(sysFallocate, fd, 1, 0, 256*mebibyte) // FALLOC_FL_KEEP_SIZE
		})
		fmt.Println("allocated for", name, got)
	}
	return serve()
}

// writable prints the mounts that can be written to, with the types of their file systems.
func writable() error {
	text := contentOf("/proc/self/mountinfo")
	if text == "" {
		return errors.New("read mounts: there is nothing")
	}

	for line := range strings.Lines(text) {
		// 36 35 98:0 /root /mount/point rw,nosuid optional:1 - ext4 /dev/sda rw,errors=continue
		mount, system, ok := strings.Cut(line, " - ")
		at, of := strings.Fields(mount), strings.Fields(system)
		if !ok || len(at) < 6 || len(of) < 3 {
			return fmt.Errorf("read mounts: %q", line)
		}
		if strings.HasPrefix(at[5], "rw") && strings.HasPrefix(of[2], "rw") {
			fmt.Println(at[4], of[0])
		}
	}

	return nil
}

// contentOf returns what a file has; "" if it cannot be read.
func contentOf(name string) string {
	var text []byte
	with(name, oRDONLY, func(fd int) int {
		for chunk := make([]byte, 1<<14); ; {
			n := call(sysRead, fd, chunk, len(chunk))
			if n <= 0 {
				return n
			}
			text = append(text, chunk[:n]...)
		}
	})
	return string(text)
}

// fillFolder writes files until it is ended, or there is no more room.
func fillFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	content := bytes.Repeat([]byte("fill"), mebibyte/4)
	for i := 0; ; i++ {
		if err := os.WriteFile(fmt.Sprintf(`%s\%d`, folder, i), content, 0o666); err != nil {
			return err
		}
	}
}

// lines writes lines for ten seconds as fast as they are taken, says in a file how many MiB those were, and waits.
func lines() error {
	chunk := bytes.Repeat([]byte("a line of a log that nobody will ever read, over and over again\n"), mebibyte/64)
	n := 0
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); n++ {
		if _, err := os.Stdout.Write(chunk); err != nil {
			return err
		}
	}
	if err := os.WriteFile(`C:\v\wrote`, fmt.Append(nil, n), 0o666); err != nil {
		return err
	}
	return serve()
}

// longLines writes one line without an end.
func longLines() error {
	chunk := bytes.Repeat([]byte("x"), mebibyte)
	for range long {
		if _, err := os.Stdout.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}

// message writes a termination message that is longer than anybody wants to know.
func message() error {
	f, err := os.OpenFile(`C:\dev\termination-log`, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	chunk := bytes.Repeat([]byte("message "), mebibyte/8)
	for range 100 {
		if _, err := f.Write(chunk); err != nil {
			fmt.Fprintln(os.Stderr, err)
			break
		}
	}
	return errors.Join(f.Close(), errors.New("ended with a message"))
}

// exchange puts links to a target in the place of files.
func exchange(target string, files []string) error {
	for _, file := range files {
		moved := call(sysRename, "/Files"+file, "/Files"+file+".moved")
		planted := call(sysSymlink, target, "/Files"+file)
		fmt.Println("exchange", file, moved, planted)
	}
	return nil
}
