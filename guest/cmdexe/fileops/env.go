// Package fileops owns the builtins of cmd.exe that only work on files and tell about the machine: dir, copy, move,
// del, ren, md, rd, type, mklink, ver, vol, assoc and ftype, with the words, the formats and the codes of Windows
// (https://learn.microsoft.com/windows-server/administration/windows-commands/windows-commands).
package fileops

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"mullion.dev/mullion/guest/cmdexe/disk"
	"mullion.dev/mullion/guest/cmdexe/wild"
)

// System is what the builtins ask of Windows beside files.
type System interface {
	// Version is the version with its revision, "10.0.20348.2565".
	Version() string
	// Volume returns the label and the serial number of the volume with a path.
	Volume(path string) (label string, serial uint32, err error)
	// Free returns how many bytes of it are free.
	Free(path string) uint64
	// Association returns the type of files with an ending, or with command the command that opens files of a type.
	Association(name string, command bool) (string, bool)
	// Terminal reports whether a file is a console.
	Terminal(f *os.File) bool
}

// Env is what a builtin sees of the shell.
type Env struct {
	Disk   disk.Disk
	System System
	Full   func(name string) string // the whole name of a file
	Dir    string
	Out    io.Writer
	Err    io.Writer
	Read   func() (string, bool) // the next line of standard input
	// Line is the next line that is typed; io.EOF comes with the last, ErrUnsupported where there is no console.
	Line    func() (string, error)
	Stopped func() bool // Ctrl+C was pressed
	Default func(variable string) string
	Now     func() time.Time
	Batch   bool // a batch file runs
}

// Commands returns the builtins by name.
func Commands() map[string]func(e *Env, args string) int32 {
	return map[string]func(e *Env, args string) int32{
		"assoc": assoc, "copy": copyFiles, "del": del, "dir": dir, "erase": del, "ftype": ftype, "md": makeFolders,
		"mkdir": makeFolders, "mklink": mklink, "move": move, "rd": removeFolders, "ren": rename, "rename": rename,
		"rmdir": removeFolders, "type": typeFiles, "ver": ver, "vol": vol,
	}
}

const incorrect = "The syntax of the command is incorrect."

func (e *Env) print(format string, args ...any) { fmt.Fprintf(e.Out, format+"\r\n", args...) }

func (e *Env) say(format string, args ...any) { fmt.Fprintf(e.Err, format+"\r\n", args...) }

// fail says what went wrong and returns the code 1.
func (e *Env) fail(err error) int32 {
	e.say("%v", err)
	return 1
}

// arguments returns the switches and the names of a command. A slash begins a switch wherever it stands outside of
// quotes.
func arguments(args string) (switches, names []string) {
	var b strings.Builder
	var quoted, isSwitch, any bool
	flush := func() {
		switch {
		case isSwitch:
			switches = append(switches, strings.ToLower(b.String()))
		case any:
			names = append(names, b.String())
		}
		b.Reset()
		isSwitch, any = false, false
	}

	for i := range len(args) {
		c := args[i]
		switch {
		case c == '"':
			quoted, any = !quoted, true
		case !quoted && strings.IndexByte(" \t,;=", c) >= 0:
			flush()
		case !quoted && c == '/':
			flush()
			isSwitch = true

		default:
			b.WriteByte(c)
			any = true
		}
	}

	flush()
	return switches, names
}

// options reads switches without values; unknown is one that is not among the known.
func options(switches []string, known string) (set map[string]bool, unknown string) {
	set = map[string]bool{}
	for _, s := range switches {
		name := strings.TrimPrefix(s, "-")
		if len(name) != 1 || !strings.Contains(known, name) {
			return set, s
		}
		set[s] = true
	}
	return set, ""
}

// invalid says that a switch is unknown.
func (e *Env) invalid(unknown string) int32 {
	e.say("Invalid switch - \"%s\".", unknown)
	return 1
}

// found is a file that a name means.
type found struct {
	path string
	info disk.Info
}

// match finds the files and folders that a name, perhaps with wild cards, means.
func (e *Env) match(name string) ([]found, error) {
	path := e.Full(name)
	if device := disk.Device(path); device != "" {
		return []found{{path, disk.Info{Name: device}}}, nil
	}

	if !wild.Has(path) {
		info, err := e.Disk.Stat(path)
		if err != nil {
			return nil, err
		}
		return []found{{path, info}}, nil
	}

	folder, pattern := disk.Split(path)
	entries, err := e.Disk.List(folder)
	if err != nil {
		return nil, err
	}

	var all []found
	for _, i := range entries {
		if wild.Match(pattern, i.Name) {
			all = append(all, found{folder + i.Name, i})
		}
	}
	if len(all) == 0 {
		return nil, disk.FileNotFound
	}

	return all, nil
}

// answer asks a question until one of the letters is said; the last letter if the input ends.
func (e *Env) answer(question, letters string) byte {
	for {
		fmt.Fprint(e.Out, question)
		line, ok := e.Read()
		line = strings.ToLower(strings.TrimSpace(line))
		if line != "" && strings.IndexByte(letters, line[0]) >= 0 {
			return line[0]
		}
		if !ok || e.Stopped() {
			fmt.Fprint(e.Out, "\r\n")
			return letters[len(letters)-1]
		}
	}
}

func ver(e *Env, _ string) int32 {
	e.print("\r\nMicrosoft Windows [Version %s]", e.System.Version())
	return 0
}

func vol(e *Env, args string) int32 {
	_, names := arguments(args)
	path := e.Dir
	if len(names) > 0 {
		path = names[0]
		if len(path) != 2 || path[1] != ':' {
			return e.fail(disk.BadName)
		}
	}

	if !e.volume(path) {
		e.say("The system cannot find the path specified.")
		return 1
	}

	return 0
}

// volume prints the label and the serial number of a drive.
func (e *Env) volume(path string) bool {
	drive := disk.Volume(path)
	if !e.Disk.IsFolder(drive + `\`) {
		return false
	}
	label, serial, err := e.System.Volume(drive + `\`)
	if err != nil {
		return true // a share need not say
	}

	name := strings.ToUpper(strings.TrimSuffix(drive, ":"))
	if label == "" {
		e.print(" Volume in drive %s has no label.", name)
	} else {
		e.print(" Volume in drive %s is %s", name, label)
	}
	e.print(" Volume Serial Number is %04X-%04X", serial>>16, serial&0xFFFF)
	return true
}

func assoc(e *Env, args string) int32 {
	return e.association(args, false, "File association not found for extension %s")
}

func ftype(e *Env, args string) int32 {
	return e.association(args, true, "File type '%s' not found or no open command associated with it.")
}

// association shows an association; none can be changed.
func (e *Env) association(args string, command bool, none string) int32 {
	name, _, changes := strings.Cut(strings.Trim(args, " \t"), "=")
	if changes || name == "" {
		e.say("Access is denied.")
		return 5
	}

	value, ok := e.System.Association(name, command)
	if !ok {
		e.say(none, name)
		return 2
	}
	e.print("%s=%s", name, value)
	return 0
}

// hasCode reports whether an error is one of Windows' numbers.
func hasCode(err error, code error) bool { return errors.Is(err, code) }
