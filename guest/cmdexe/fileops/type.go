package fileops

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"

	"mullion.dev/mullion/guest/cmdexe/disk"
	"mullion.dev/mullion/guest/cmdexe/wild"
)

func typeFiles(e *Env, args string) int32 {
	_, names := arguments(args)
	if len(names) == 0 {
		e.say(incorrect)
		return 1
	}

	last := int32(0)
	for _, name := range names {
		several := len(names) > 1 || wild.Has(name)
		files, err := e.match(name)
		if err == nil {
			err = e.typeAll(files, name, several)
		}
		if err != nil {
			e.say("%v", err)
			if len(names) > 1 {
				e.say("Error occurred while processing: %s.", name)
			}
			last = 1
		}
	}

	return last
}

// typeAll prints files. The name of each is told where there are several.
func (e *Env) typeAll(files []found, typed string, several bool) error {
	for _, f := range files {
		if f.info.Folder() {
			if wild.Has(typed) {
				continue
			}
			return disk.AccessDenied
		}

		in, err := e.open(f.path)
		if err != nil {
			return err
		}

		if several {
			e.say("\r\n%s\r\n\r\n", shownAs(typed, f))
		}
		e.typeOne(in)
		_ = in.Close() // it was only read
		if e.Stopped() {
			return nil
		}
	}

	return nil
}

// typeOne prints a file; one of UTF-16 as UTF-8.
func (e *Env) typeOne(in io.Reader) {
	var mark [2]byte
	n, _ := io.ReadFull(in, mark[:]) // a shorter file has no mark
	if n == 2 && mark[0] == 0xFF && mark[1] == 0xFE {
		r := bufio.NewReader(in)
		var units []uint16
		for {
			var unit uint16
			if binary.Read(r, binary.LittleEndian, &unit) != nil {
				break
			}
			units = append(units, unit)
			if unit == '\n' {
				fmt.Fprint(e.Out, string(utf16.Decode(units)))
				units = units[:0]
			}
		}

		fmt.Fprint(e.Out, string(utf16.Decode(units)))
		return
	}

	_, _ = e.Out.Write(mark[:n])
	_, _ = io.Copy(e.Out, in) // nobody reads it any more, else
}

func mklink(e *Env, args string) int32 {
	switches, names := arguments(args)
	set, unknown := options(switches, "dhj")
	if unknown != "" {
		return e.invalid(unknown)
	}
	if len(names) != 2 {
		e.say(incorrect)
		return 1
	}

	name, target := e.Full(names[0]), names[1]
	kind, what := disk.FileLink, "symbolic link created"
	switch {
	case set["h"]:
		kind, what = disk.HardLink, "Hardlink created"
		target = e.Full(target)
	case set["j"]:
		kind, what = disk.Junction, "Junction created"
		target = e.Full(target)
	case set["d"]:
		kind = disk.FolderLink
	}

	if err := e.Disk.Link(name, strings.ReplaceAll(target, "/", `\`), kind); err != nil {
		return e.fail(err)
	}
	e.print("%s for %s <<===>> %s", what, names[0], names[1])
	return 0
}
