// Package forfiles owns forfiles.exe, which runs a command for each of the files that it finds.
package forfiles

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/wildcard"
)

// Exit codes of forfiles.
const (
	exitDone   = 0
	exitFailed = 1
)

// usualCommand is what runs without /C.
const usualCommand = "cmd /c echo @file"

// mostDays bounds the days of /D.
const mostDays = 32768

// System is what forfiles needs of Windows.
type System interface {
	// Run runs a command line in a folder, with the streams of the program, and waits for its end. Its exit code means
	// nothing; the error is that it could not be started.
	Run(e program.Env, line, folder string) error
	Now() time.Time
}

// said is an error in the words of Windows.
type said string

func (s said) Error() string { return string(s) }

// errMissing is the error of a program that is not there.
const errMissing = said("The system cannot find the file specified.")

// search is what the options ask for.
type search struct {
	folder, mask, command string
	below                 bool

	dated bool
	day   time.Time // midnight
	until bool      // files of that day and before, otherwise of that day and after
}

// Run runs a command for files (https://learn.microsoft.com/windows-server/administration/windows-commands/forfiles).
func Run(e program.Env, sys System, args []string) int {
	given, code := options(e, args)
	if given == nil {
		return code
	}

	_, below := given["s"]
	s := search{
		folder: given["p"], below: below,
		mask: cmp.Or(given["m"], "*"), command: cmp.Or(given["c"], usualCommand),
	}
	if text, dates := given["d"]; dates && !s.dates(text, sys.Now()) {
		e.Complain("ERROR: Invalid date specified.")
		e.Complain(`Type "FORFILES /?" for usage.`)
		return exitFailed
	}
	return s.run(e, sys)
}

// options returns the options with their values, nil if there is nothing to do but to end with a code.
func options(e program.Env, args []string) (given map[string]string, code int) {
	given = map[string]string{}
	for i := 0; i < len(args); i++ {
		option := args[i]
		name, is := program.Option(option)
		switch {
		case is && name == "?":
			usage(e)
			return nil, exitDone
		case !is || !strings.Contains(" p m s c d ", " "+name+" "):
			e.Unknown("forfiles", option)
			return nil, exitFailed
		}

		if _, twice := given[name]; twice {
			e.Invalid("forfiles", "'"+option+"' option is not allowed more than '1' time(s).")
			return nil, exitFailed
		}
		given[name] = ""
		if name == "s" {
			continue
		}
		if i+1 >= len(args) || args[i+1] == "" {
			e.Invalid("forfiles", "Value expected for '"+option+"'.")
			return nil, exitFailed
		}
		i++
		given[name] = args[i]
	}
	return given, exitDone
}

func usage(e program.Env) {
	e.Print("FORFILES [/P pathname] [/M searchmask] [/S]\r\n         [/C command] [/D [+ | -] {MM/dd/yyyy | dd}]")
}

// dates reads the date of /D: + or -, and a day or so many days.
func (s *search) dates(text string, now time.Time) bool {
	sign := byte('+')
	if text[0] == '+' || text[0] == '-' {
		sign, text = text[0], text[1:]
	}
	s.dated, s.until = true, sign == '-'

	if days, err := strconv.Atoi(text); err == nil {
		if s.until {
			days = -days
		}
		s.day = midnight(now).AddDate(0, 0, days)
		return days <= mostDays && days >= -mostDays && !strings.ContainsAny(text, "+-")
	}
	day, err := time.ParseInLocation("1/2/2006", text, now.Location())
	s.day = day
	return err == nil
}

func midnight(at time.Time) time.Time {
	return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, at.Location())
}

// run runs the command for what is found.
func (s *search) run(e program.Env, sys System) int {
	if strings.HasPrefix(s.folder, `\\`) {
		e.Complain(`ERROR: UNC paths (\\machine\share) are not supported.`)
		return exitFailed
	}
	folder, err := filepath.Abs(s.folder)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(folder); err == nil && !info.IsDir() {
			err = os.ErrNotExist
		}
	}
	if err != nil {
		e.Complain("ERROR: The directory name is invalid.")
		return exitFailed
	}

	found := s.find(folder, "."+string(filepath.Separator))
	if len(found) == 0 {
		e.Complain("ERROR: No files found with the specified search criteria.")
		return exitFailed
	}

	code := exitDone
	e.Print("")
	for _, f := range found {
		if err := sys.Run(e, expand(s.command, f), filepath.Dir(f.path)); err != nil {
			e.Complain("ERROR: %v", err)
			code = exitFailed
		}
	}
	return code
}

// file is a file or folder that was found.
type file struct {
	path, below string // whole, and from the folder of /P on
	info        os.FileInfo
}

// find returns what is in a folder, and then what is in the folders of it. A link to a folder is found, not followed.
func (s *search) find(folder, below string) []file {
	var found, deeper []file
	for _, entry := range wildcard.Entries(folder) {
		info, err := entry.Info()
		if err != nil {
			continue // gone since
		}

		f := file{
			path:  filepath.Join(folder, entry.Name()),
			below: below + entry.Name(),
			info:  info,
		}
		if wildcard.Match(s.mask, entry.Name()) && s.takes(info) {
			found = append(found, f)
		}
		if s.below && entry.IsDir() {
			deeper = append(deeper, f)
		}
	}

	for _, f := range deeper {
		found = append(found, s.find(f.path, f.below+string(filepath.Separator))...)
	}
	return found
}

// takes reports whether a file is of the days that are asked for.
func (s *search) takes(info os.FileInfo) bool {
	day := midnight(info.ModTime().In(s.day.Location()))
	switch {
	case !s.dated:
		return true
	case s.until:
		return !day.After(s.day)
	}
	return !day.Before(s.day)
}

// variables returns the values of the variables of a command.
func (f file) variables() map[string]string {
	name := f.info.Name()
	extension := strings.TrimPrefix(filepath.Ext(name), ".")
	base := strings.TrimSuffix(name, filepath.Ext(name))
	size := f.info.Size()
	if f.info.IsDir() {
		size = 0
	}

	changed := f.info.ModTime().Local()
	quoted := func(text string) string { return `"` + text + `"` }
	return map[string]string{
		"@file": quoted(name), "@fname": quoted(base), "@ext": quoted(extension), "@path": quoted(f.path),
		"@relpath": quoted(f.below), "@isdir": strings.ToUpper(strconv.FormatBool(f.info.IsDir())),
		"@fsize": strconv.FormatInt(size, 10), "@fdate": changed.Format("1/2/2006"), "@ftime": changed.Format("3:04:05 PM"),
	}
}

// expand returns a command with the values of a file in place of the variables, and characters in place of 0xHH. What
// a value has in it is not looked at again.
func expand(command string, f file) string {
	values := f.variables()
	var b strings.Builder
	for command != "" {
		if n, is := character(command); is {
			b.WriteByte(n)
			command = command[len("0xHH"):]
			continue
		}

		name := ""
		for one := range values {
			if len(one) <= len(command) && strings.EqualFold(command[:len(one)], one) {
				name = one
			}
		}
		if name != "" {
			b.WriteString(values[name])
			command = command[len(name):]
			continue
		}
		b.WriteByte(command[0])
		command = command[1:]
	}
	return b.String()
}

// character reads 0xHH.
func character(text string) (byte, bool) {
	if len(text) < len("0xHH") || text[0] != '0' || (text[1] != 'x' && text[1] != 'X') {
		return 0, false
	}
	n, err := strconv.ParseUint(text[2:4], 16, 8)
	return byte(n), err == nil
}
