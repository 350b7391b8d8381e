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
		j.Complain("Cannot perform a cyclic copy")
		return stop{exitInvalid}
	}
	return j.tree(j.from, j.to)
}

// found reports whether there is what the source names.
func (j *job) found() bool {
	entries, err := os.ReadDir(here(j.from))
	if err != nil {
		return false
	}
	for _, e := range entries {
		if (!e.IsDir() && wildcard.Match(j.pattern, e.Name())) || (e.IsDir() && j.below) {
			return true
		}
	}
	return j.pattern == "*"
}

// destination finds out whether the destination is a folder or a file, of one that is not there by a question.
func (j *job) destination(to string, single bool) error {
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
	entries, err := os.ReadDir(here(from))
	if err != nil {
		return err
	}
	if j.empty && !j.list && !j.asFile {
		if err := os.MkdirAll(to, 0o777); err != nil {
			return err
		}
	}

	for _, e := range entries {
		info, err := e.Info()
		if err != nil || e.IsDir() || j.onlyFolders || !wildcard.Match(j.pattern, e.Name()) {
			continue
		}
		target := to
		if !j.asFile {
			target = filepath.Join(to, e.Name())
		}
		if err := j.file(info, from+e.Name(), target); err != nil {
			return err
		}
	}

	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !j.below || !e.IsDir() || (hidden(info) && !j.withHidden) {
			continue
		}
		target := to
		if !j.asFile {
			target = filepath.Join(to, e.Name())
		}
		if j.onlyFolders && !j.list && (j.empty || j.holds(from+e.Name())) {
			if err := os.MkdirAll(target, 0o777); err != nil {
				return err
			}
		}
		if err := j.tree(from+e.Name()+string(filepath.Separator), target); err != nil {
			return err
		}
	}

	return nil
}

// holds reports whether a folder has anything in it.
func (j *job) holds(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) > 0
}

// file copies a file, if it is wanted.
func (j *job) file(info fs.FileInfo, from, to string) error {
	if (hidden(info) && !j.withHidden) || j.isExcluded(from) {
		return nil
	}

	old, err := os.Stat(to)
	there := err == nil
	switch {
	case j.onlyThere && !there:
		return nil
	case j.newer && j.since.IsZero() && there && !info.ModTime().Truncate(time.Second).After(old.ModTime()):
		return nil
	case j.newer && !j.since.IsZero() && info.ModTime().Before(j.since):
		return nil
	}

	if there && !j.overwrite && !j.list {
		answer, err := j.ask("Overwrite "+to+" (Yes/No/All)?", "YNA")
		switch {
		case err != nil:
			return err
		case answer == 'N':
			return nil
		case answer == 'A':
			j.overwrite = true
		}
	}

	switch {
	case j.quiet:
	case j.full:
		j.Print("%s -> %s", from, to)
	default:
		j.Print("%s", from)
	}

	if !j.list {
		if err := j.copy(info, from, to, there); err != nil {
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
