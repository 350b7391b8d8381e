package fileops

import (
	"strings"

	"mullion.dev/mullion/guest/cmdexe/disk"
	"mullion.dev/mullion/guest/cmdexe/wild"
	"mullion.dev/mullion/internal/windows/wire/winerr"
)

func makeFolders(e *Env, args string) int32 {
	switches, names := arguments(args)
	if len(switches) > 0 || len(names) == 0 {
		e.say(incorrect)
		return 1
	}

	code := int32(0)
	for _, name := range names {
		err := e.makeFolder(name)
		switch {
		case err == nil:
			continue
		case hasCode(err, disk.Exists):
			e.say("A subdirectory or file %s already exists.", name)
		default:
			e.say("%v", err)
		}

		code = 1
		if len(names) > 1 {
			e.say("Error occurred while processing: %s.", name)
		}
	}

	return code
}

// makeFolder makes the folders of a path one after the other, as far as their names are ones.
func (e *Env) makeFolder(name string) error {
	path := e.Full(name)
	if !wild.Has(path) {
		return e.Disk.MakeFolder(path)
	}
	if good := strings.LastIndexByte(path[:strings.IndexAny(path, "*?")], '\\'); good > 2 {
		if err := e.Disk.MakeFolder(path[:good]); err != nil && !hasCode(err, disk.Exists) {
			return err
		}
	}
	return disk.BadName
}

// code returns the number of an error of Windows.
func code(err error) int32 {
	if number, ok := err.(winerr.Code); ok { //nolint:errorlint // package disk wraps none
		return int32(number) //nolint:gosec // they are small
	}
	return 1
}

func removeFolders(e *Env, args string) int32 {
	switches, names := arguments(args)
	set, unknown := options(switches, "sq")
	if unknown != "" {
		return e.invalid(unknown)
	}
	if len(names) == 0 {
		e.say(incorrect)
		return 1
	}

	last := int32(0)
	for _, name := range names {
		path := e.Full(name)
		info, err := e.Disk.Stat(path)
		switch {
		case wild.Has(path):
			err = disk.BadName
		case err != nil:
		case !info.Folder():
			err = disk.BadFolder
		case !set["s"]:
			err = e.Disk.RemoveFolder(path)
		case set["q"] || e.answer(name+", Are you sure (Y/N)? ", "yn") == 'y':
			err = e.removeTree(path, info, 0)
		}

		if err != nil {
			e.say("%v", err)
			last = code(err)
		}
	}

	return last
}

// removeTree removes a folder with all that is in it. What cannot be removed is told by its name.
func (e *Env) removeTree(path string, info disk.Info, depth int) error {
	if info.Attributes&disk.Link != 0 || depth > deepest {
		return e.Disk.RemoveFolder(path)
	}
	entries, err := e.Disk.List(path)
	if err != nil {
		return err
	}

	for _, i := range entries {
		if e.Stopped() {
			return nil
		}

		at := strings.TrimRight(path, `\`) + `\` + i.Name
		if i.Folder() {
			err = e.removeTree(at, i, depth+1)
		} else {
			if i.Attributes&disk.ReadOnly != 0 {
				_ = e.Disk.SetAttributes(at, 0, disk.ReadOnly) // the removal tells
			}
			err = e.Disk.RemoveFile(at)
		}

		if err != nil && !hasCode(err, disk.FileNotFound) {
			e.say("%s - %v", at, err)
		}
	}

	return e.Disk.RemoveFolder(path)
}

// deletion is what DEL was asked for.
type deletion struct {
	e                           *Env
	prompt, force, below, quiet bool
	want, hide                  uint32
	filtered                    bool
}

func del(e *Env, args string) int32 {
	switches, names := arguments(args)
	d := &deletion{e: e}
	if wrong := d.read(switches); wrong != "" {
		return e.invalid(wrong)
	}
	if len(names) == 0 {
		e.say(incorrect)
		return 1
	}

	for _, name := range names {
		if err := d.name(e.Full(name)); err != nil {
			return e.fail(err)
		}
	}

	return 0
}

// read reads the switches; wrong is what is none.
func (d *deletion) read(switches []string) (wrong string) {
	for _, s := range switches {
		switch {
		case s == "p":
			d.prompt = true
		case s == "f":
			d.force = true
		case s == "s":
			d.below = true
		case s == "q":
			d.quiet = true
		case strings.HasPrefix(s, "a"):
			var ok bool
			if d.want, d.hide, ok = attributeFilter(s[1:]); !ok {
				return s
			}
			d.filtered = true

		default:
			return s
		}
	}

	return ""
}

// name deletes what a name means; all files of a folder only after a question.
func (d *deletion) name(path string) error {
	folder, pattern := disk.Split(path)
	if info, err := d.e.Disk.Stat(path); err == nil && info.Folder() {
		folder, pattern = strings.TrimRight(path, `\`)+`\`, "*"
	}
	all := pattern == "*" || pattern == "*.*"
	if all && !d.quiet && !d.prompt && d.e.answer(folder+pattern+", Are you sure (Y/N)? ", "yn") != 'y' {
		return nil
	}

	count, err := d.in(folder, pattern, 0)
	if err == nil && count == 0 && !all {
		d.e.say("Could Not Find %s", path)
	}
	return err
}

// in deletes the files of a folder that a pattern matches, and of those below it with /s. It counts them.
func (d *deletion) in(folder, pattern string, depth int) (int, error) {
	var entries []disk.Info
	var err error
	if !wild.Has(pattern) && !d.below { // one name needs no list
		var one disk.Info
		if one, err = d.e.Disk.Stat(folder + pattern); err == nil {
			one.Name = pattern
			entries = []disk.Info{one}
		}
		if hasCode(err, disk.FileNotFound) {
			err = nil
		}
	} else {
		entries, err = d.e.Disk.List(folder)
	}

	if err != nil {
		if depth > 0 { // one that may not be read
			return 0, nil
		}
		return 0, err
	}

	count := 0
	for _, i := range entries {
		if d.e.Stopped() || depth > deepest {
			break
		}

		if i.Folder() {
			if d.below && i.Attributes&disk.Link == 0 {
				more, _ := d.in(folder+i.Name+`\`, pattern, depth+1)
				count += more
			}
			continue
		}

		if d.takes(i) && wild.Match(pattern, i.Name) {
			count++
			d.one(folder+i.Name, i)
		}
	}

	return count, nil
}

// takes reports whether the attributes of a file are those that are asked for.
func (d *deletion) takes(i disk.Info) bool {
	if d.filtered {
		return i.Attributes&d.want == d.want && i.Attributes&d.hide == 0
	}
	return i.Attributes&(disk.Hidden|disk.System) == 0
}

func (d *deletion) one(path string, i disk.Info) {
	if d.prompt && d.e.answer(path+", Delete (Y/N)? ", "yn") != 'y' {
		return
	}
	if d.force && i.Attributes&disk.ReadOnly != 0 {
		_ = d.e.Disk.SetAttributes(path, 0, disk.ReadOnly) // the removal tells
	}

	if err := d.e.Disk.RemoveFile(path); err != nil {
		d.e.say("%s\r\n%v", path, err)
		return
	}
	if d.below {
		d.e.print("Deleted file - %s", path)
	}
}
