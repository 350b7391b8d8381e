package fileops

import (
	"errors"
	"io"
	"strings"

	"mullion.dev/mullion/guest/cmdexe/disk"
	"mullion.dev/mullion/guest/cmdexe/wild"
	"mullion.dev/mullion/guest/lineedit"
)

// overwrite asks before a file is written over, where Windows asks: not in a batch file, not after /y.
type overwrite struct {
	e   *Env
	yes bool
}

func (e *Env) overwrite(set map[string]bool) *overwrite {
	o := &overwrite{e: e, yes: e.Batch || strings.Contains(strings.ToLower(e.Default("COPYCMD")), "/y")}
	if set["-y"] {
		o.yes = false
	}
	if set["y"] {
		o.yes = true
	}
	return o
}

// may reports whether a file may be written.
func (o *overwrite) may(path string) bool {
	if o.yes || disk.Device(path) != "" || !o.e.Disk.Exists(path) {
		return true
	}
	switch o.e.answer("Overwrite "+path+"? (Yes/No/All): ", "yan") {
	case 'a':
		o.yes = true
		return true
	case 'y':
		return true
	}
	return false
}

// sources takes names joined by + apart. Blanks may stand around the sign.
func sources(names []string) (groups [][]string) {
	joined := false
	for _, name := range names {
		parts := strings.Split(name, "+")
		for i, part := range parts {
			if i > 0 {
				joined = true
			}
			if part == "" {
				continue
			}

			if joined && len(groups) > 0 {
				groups[len(groups)-1] = append(groups[len(groups)-1], part)
			} else {
				groups = append(groups, []string{part})
			}
			joined = false
		}
	}

	return groups
}

func copyFiles(e *Env, args string) int32 {
	switches, names := arguments(args)
	set, unknown := options(switches, "yabvdnzl")
	if unknown != "" {
		return e.invalid(unknown)
	}

	groups := sources(names)
	if len(groups) == 0 || len(groups) > 2 || (len(groups) == 2 && len(groups[1]) > 1) {
		e.say(incorrect)
		return 1
	}

	to := "."
	if len(groups) == 2 {
		to = groups[1][0]
	} else if len(groups[0]) > 1 {
		to = groups[0][0]
	}

	ask := e.overwrite(set)
	if len(groups) == 1 && len(groups[0]) > 1 {
		ask.yes = true // the first file is the target
	}

	copied, err := e.copyAll(groups[0], to, ask)
	if err != nil && !errors.Is(err, lineedit.ErrInterrupted) {
		e.say("%v", err)
	}
	e.print("%9d file(s) copied.", copied)
	if err != nil || copied == 0 {
		return 1
	}

	return 0
}

// copyAll copies files: several into one if they are joined or if a pattern meets one name, else each for itself.
func (e *Env) copyAll(from []string, to string, ask *overwrite) (int, error) {
	all, pattern, err := e.gather(from)
	if err != nil {
		return 0, err
	}

	target := e.Full(to)
	folder := e.Disk.IsFolder(target)
	one := !folder && !wild.Has(target)
	if one && (strings.HasSuffix(to, `\`) || strings.HasSuffix(to, "/")) {
		return 0, disk.PathNotFound
	}
	if one && len(all) > 1 {
		return e.join(all, target, ask)
	}

	shown := func(found) {}
	if pattern {
		shown = func(f found) { e.print("%s", shownAs(from[0], f)) }
	}

	return e.copyEach(all, func(f found) string { return place(target, folder, f) }, shown, ask)
}

// gather finds the files to copy. pattern says that there may be several.
func (e *Env) gather(from []string) (all []found, pattern bool, err error) {
	pattern = len(from) > 1
	for _, name := range from {
		if e.Disk.IsFolder(e.Full(name)) {
			name = strings.TrimRight(name, `\`) + `\*`
		}
		files, err := e.match(name)
		if err != nil && len(from) == 1 {
			return nil, false, err
		}

		pattern = pattern || wild.Has(name)
		for _, f := range files {
			if !f.info.Folder() {
				all = append(all, f)
			}
		}
	}
	if len(all) == 0 {
		return nil, false, disk.FileNotFound
	}

	return all, pattern, nil
}

// copyEach copies files, each for itself.
func (e *Env) copyEach(all []found, to func(found) string, shown func(found), ask *overwrite) (copied int, err error) {
	for _, f := range all {
		if e.Stopped() {
			break
		}

		shown(f)
		name := to(f)
		if strings.EqualFold(name, f.path) {
			e.say("The file cannot be copied onto itself.")
			continue
		}
		if !ask.may(name) {
			continue
		}

		if err := e.copyOne(f, name); err != nil {
			return copied, err
		}
		copied++
	}

	return copied, nil
}

// shownAs returns a file as COPY lists it: with the folder that was typed.
func shownAs(typed string, f found) string {
	at := strings.LastIndexAny(typed, `\/:`) + 1
	_, name := disk.Split(f.path)
	return typed[:at] + name
}

// place returns where a file goes.
func place(target string, folder bool, f found) string {
	name := f.info.Name
	if folder {
		return strings.TrimRight(target, `\`) + `\` + name
	}
	if wild.Has(target) {
		into, pattern := disk.Split(target)
		return into + wild.Rename(name, pattern)
	}
	return target
}

// copyOne copies a file with the time of its last change.
func (e *Env) copyOne(f found, to string) error {
	in, err := e.open(f.path)
	if err != nil {
		return err
	}
	defer in.Close()

	out, err := e.Disk.Open(to, disk.Write)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err != nil {
		_ = out.Close() // the first error counts
		if errors.Is(err, lineedit.ErrInterrupted) {
			_ = e.Disk.RemoveFile(to) // likewise
		}
		return err
	}

	if err := out.Close(); err != nil {
		return err
	}
	if disk.Device(f.path) == "" && disk.Device(to) == "" {
		_ = e.Disk.Touch(to, f.info.Modified) // the content is what counts
	}

	return nil
}

// join makes one file of several.
func (e *Env) join(all []found, to string, ask *overwrite) (int, error) {
	grows := strings.EqualFold(all[0].path, to)
	if !grows && !ask.may(to) {
		return 0, nil
	}
	how := disk.Write
	if grows {
		how = disk.Append
		all = all[1:]
	}

	out, err := e.Disk.Open(to, how)
	if err != nil {
		return 0, err
	}
	defer out.Close()

	for _, f := range all {
		in, err := e.open(f.path)
		if err != nil {
			return 0, err
		}
		_, err = io.Copy(out, in)
		_ = in.Close() // it was only read
		if err != nil {
			return 0, err
		}
	}

	return 1, nil
}

func move(e *Env, args string) int32 {
	switches, names := arguments(args)
	set, unknown := options(switches, "y")
	if unknown != "" {
		return e.invalid(unknown)
	}
	if len(names) == 0 || len(names) > 2 {
		e.say(incorrect)
		return 1
	}
	return e.move(names, e.overwrite(set))
}

// move moves what the first name means to where the second one says.
func (e *Env) move(names []string, ask *overwrite) int32 {
	to := e.Dir
	if len(names) == 2 {
		to = e.Full(names[1])
	}
	all, err := e.match(names[0])
	if err != nil {
		return e.fail(err)
	}

	folder := e.Disk.IsFolder(to)
	if len(all) > 1 && !folder && !wild.Has(to) {
		e.say("Cannot move multiple files to a single file.")
		return 1
	}

	moved, kind := 0, "file"
	for _, f := range all {
		if f.info.Folder() && wild.Has(names[0]) { // a pattern means files
			continue
		}
		name := place(to, folder && !strings.EqualFold(to, f.path), f)
		if !ask.may(name) {
			continue
		}

		if wild.Has(names[0]) {
			e.print("%s", f.path)
		}

		if err := e.moveOne(f, name); err != nil {
			return e.fail(err)
		}
		if f.info.Folder() {
			kind = "dir"
		}
		moved++
	}

	e.print("%9d %s(s) moved.", moved, kind)
	if moved == 0 {
		return 1
	}

	return 0
}

// moveOne gives a file another name. Between drives it is copied, and removed then.
func (e *Env) moveOne(f found, to string) error {
	if e.Disk.IsFolder(to) && !strings.EqualFold(to, f.path) {
		return disk.AccessDenied
	}
	err := e.Disk.Rename(f.path, to, true)
	if err == nil || f.info.Folder() || strings.EqualFold(disk.Volume(f.path), disk.Volume(to)) {
		return err
	}
	if err := e.copyOne(f, to); err != nil {
		return err
	}
	return e.Disk.RemoveFile(f.path)
}

func rename(e *Env, args string) int32 {
	_, names := arguments(args)
	if len(names) != 2 || strings.ContainsAny(names[1], `\:`) {
		e.say(incorrect)
		return 1
	}
	all, err := e.match(names[0])
	if err != nil {
		return e.fail(err)
	}

	code := int32(0)
	for _, f := range all {
		if f.info.Folder() && wild.Has(names[0]) {
			continue
		}

		folder, old := disk.Split(f.path)
		if err := e.Disk.Rename(f.path, folder+wild.Rename(old, names[1]), false); hasCode(err, disk.Exists) {
			e.say("A duplicate file name exists, or the file\r\ncannot be found.")
			code = 1
		} else if err != nil {
			code = e.fail(err)
		}
	}

	return code
}
