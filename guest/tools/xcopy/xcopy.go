// Package xcopy owns xcopy.exe, with which images and init containers copy trees of files. Wine's own ends with 0
// where there is nothing to copy, and where its question has no answer, as in a container without standard input, it
// asks for ever.
package xcopy

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/wildcard"
)

// Exit codes of xcopy (https://learn.microsoft.com/windows-server/administration/windows-commands/xcopy).
const (
	exitCopied  = 0
	exitEnded   = 2 // a question has no answer: on Windows, Ctrl-C
	exitInvalid = 4 // or there is no such source
	exitWrite   = 5
)

// job is a run of xcopy.
type job struct {
	program.Env
	options
	answers *bufio.Reader
	// from is the folder of the source as it was given, with its last slash, pattern what is copied of it.
	from, pattern string
	// to is the destination. If it is a file, asFile is true.
	to     string
	asFile bool
	copied int
	// above are the folders that are being copied, the outermost first.
	above []fs.FileInfo
}

// stop ends a job with an exit code.
type stop struct{ code int }

func (s stop) Error() string { return "xcopy ends" }

// Run copies files and trees of them, and returns the exit code.
func Run(e program.Env, args []string) int {
	o, paths, err := parse(e.Getenv("COPYCMD"), args)
	if err != nil {
		e.Complain("%v", err)
		e.Print("0 File(s) copied")
		return exitInvalid
	}
	if o.help {
		usage(e)
		return exitCopied
	}

	j := job{
		Env:     e,
		options: o,
		answers: bufio.NewReader(e.Stdin),
	}
	if o.owners {
		e.Complain("xcopy: owners and access lists are not copied here (/O, /X)")
	}
	code := exitCopied
	if err := j.run(paths); err != nil {
		code = j.failed(err)
	}

	if j.list {
		e.Print("%d File(s)", j.copied)
	} else {
		e.Print("%d File(s) copied", j.copied)
	}
	return code
}

// failed tells of an error, and returns the exit code.
func (j *job) failed(err error) int {
	if ended, ok := errors.AsType[stop](err); ok {
		return ended.code
	}
	if errors.Is(err, fs.ErrPermission) {
		j.Complain("Access denied")
		return exitInvalid
	}
	j.Complain("%v", err)
	return exitWrite
}

func (j *job) run(paths []string) error {
	to := "."
	if len(paths) > 1 {
		to = paths[1]
	}

	j.from, j.pattern = wildcard.Split(paths[0])
	single := !wildcard.Has(paths[0])
	if info, err := os.Stat(paths[0]); single && err == nil && info.IsDir() {
		j.from, j.pattern = strings.TrimRight(paths[0], `\/`)+string(filepath.Separator), "*"
		single = false
	}
	if !j.found() {
		j.Complain("File not found - %s", j.pattern)
		return stop{exitInvalid}
	}

	if err := j.destination(to, single); err != nil {
		return err
	}
	if !j.asFile && j.below && within(j.from, j.to) {
		return j.cyclic()
	}
	if j.waits {
		j.Print("Press Enter when ready to begin copying file(s)")
		if _, err := j.answers.ReadString('\n'); err != nil {
			return stop{exitEnded}
		}
	}
	return j.tree(j.from, j.to)
}

// found reports whether there is what the source names.
func (j *job) found() bool {
	entries, err := look(j.from)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if (!e.IsDir() && wildcard.Match(j.pattern, e.Name())) || (e.IsDir() && j.below) {
			return true
		}
	}
	return j.pattern == "*" || j.pattern == "*.*"
}

// cyclic says that a folder would be copied into itself, and returns the end of xcopy.
func (j *job) cyclic() error {
	j.Complain("Cannot perform a cyclic copy")
	return stop{exitInvalid}
}

// destination finds out whether the destination is a folder or a file, of one that is not there by a question.
func (j *job) destination(to string, single bool) error {
	if dir, last := wildcard.Split(to); last == "*" || last == "*.*" { // each by its own name
		to = here(dir)
		if !single {
			to += string(filepath.Separator)
		}
	}
	j.to = to
	info, err := os.Stat(to)
	switch {
	case err == nil:
		j.asFile = !info.IsDir()
		return nil
	case strings.HasSuffix(to, `\`), strings.HasSuffix(to, "/"), j.isFolder && !single:
		return nil
	case single && strings.HasSuffix(to, "*"): // by which scripts say that it is a file
		j.to, j.asFile = strings.TrimRight(to, "*"), true
		return nil
	}

	const what = " specify a file name\r\nor directory name on the target\r\n(F = file, D = directory)?"
	answer, err := j.ask("Does "+to+what, "FD")
	j.asFile = answer == 'F'
	return err
}

// ask prints a question until the answer begins with one of the letters. Without an answer it ends xcopy.
func (j *job) ask(question, letters string) (byte, error) {
	for {
		j.Print("%s", question)
		line, err := j.answers.ReadString('\n')
		if line = strings.ToUpper(strings.TrimSpace(line)); line != "" && strings.Contains(letters, line[:1]) {
			return line[0], nil
		}
		if err != nil {
			return 0, stop{exitEnded}
		}
	}
}

// tree copies what fits of a folder, and with /S the folders below it.
func (j *job) tree(from, to string) error {
	entries, err := look(from)
	if err != nil {
		return err
	}
	if j.empty && !j.list && !j.asFile {
		if err := os.MkdirAll(to, 0o777); err != nil {
			return err
		}
	}

	for _, e := range entries {
		if !j.isWanted(e) {
			continue
		}
		if err := j.file(e, from+e.Name(), j.target(to, e)); err != nil {
			return err
		}
	}

	for _, e := range entries {
		if !j.below || !e.IsDir() || j.isKeptOut(e) {
			continue
		}
		if err := j.folder(e, from+e.Name(), j.target(to, e)); err != nil {
			return err
		}
	}

	return nil
}

// isWanted reports whether something of a folder is a file of which the command line speaks.
func (j *job) isWanted(e fs.FileInfo) bool {
	return !e.IsDir() && !j.onlyFolders && wildcard.Match(j.pattern, e.Name())
}

// isKeptOut reports whether something is left out since it is hidden.
func (j *job) isKeptOut(e fs.FileInfo) bool { return hidden(e) && !j.withHidden }

// target returns where something of a folder is copied to.
func (j *job) target(to string, e fs.FileInfo) string {
	if j.asFile {
		return to
	}
	return filepath.Join(to, e.Name())
}

// folder copies a folder with what is below it. One that a link below it leads back to ends xcopy.
func (j *job) folder(info fs.FileInfo, from, to string) error {
	for _, above := range j.above {
		if os.SameFile(above, info) {
			return j.cyclic()
		}
	}
	j.above = append(j.above, info)
	defer func() { j.above = j.above[:len(j.above)-1] }()

	if j.onlyFolders && !j.list && (j.empty || j.holds(from)) {
		if err := os.MkdirAll(to, 0o777); err != nil {
			return err
		}
	}
	return j.tree(from+string(filepath.Separator), to)
}

// holds reports whether a folder has anything in it.
func (j *job) holds(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) > 0
}

// file copies a file, if it is wanted.
func (j *job) file(info fs.FileInfo, from, to string) error {
	old, err := os.Stat(to)
	if err != nil {
		old = nil
	}
	if j.isKeptOut(info) || j.isExcluded(from) || j.isTooOld(info, old) {
		return nil
	}

	if old != nil && isSame(from, old) {
		j.Complain("File cannot be copied onto itself")
		return stop{exitInvalid}
	}
	if wanted, err := j.asked(from, to, old != nil); !wanted || err != nil {
		return err
	}
	switch {
	case j.quiet:
	case j.full:
		j.Print("%s -> %s", whole(from), whole(to))
	default:
		j.Print("%s", from)
	}

	if !j.list {
		if err := j.copy(info, from, to, old); err != nil {
			if j.goOn {
				j.failed(err)
				return nil
			}
			return err
		}
	}
	j.copied++

	return nil
}

// isTooOld reports whether /U or /D leaves a file out. old is what is in its place, or nil.
func (j *job) isTooOld(info, old fs.FileInfo) bool {
	switch {
	case old == nil && j.onlyThere:
		return true
	case !j.newer:
		return false
	case !j.since.IsZero():
		return info.ModTime().Before(j.since)
	default:
		return old != nil && !info.ModTime().Truncate(time.Second).After(old.ModTime())
	}
}

// asked asks what the command line wants asked about a file, and reports whether it is to be copied.
func (j *job) asked(from, to string, there bool) (bool, error) {
	if j.list {
		return true, nil
	}
	if j.prompt {
		if answer, err := j.ask(from+" (Y/N)?", "YN"); err != nil || answer == 'N' {
			return false, err
		}
	}
	if !there || j.overwrite {
		return true, nil
	}

	answer, err := j.ask("Overwrite "+to+" (Yes/No/All)?", "YNA")
	j.overwrite = answer == 'A'
	return answer != 'N', err
}
