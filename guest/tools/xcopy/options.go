package xcopy

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"mullion.dev/mullion/guest/tools/program"
)

// options are those of the command line.
type options struct {
	help bool
	// below is /S, empty /E, onlyFolders /T.
	below, empty, onlyFolders bool
	// isFolder is /I, overwrite /Y, list /L, quiet /Q, full /F, goOn /C.
	isFolder, overwrite, list, quiet, full, goOn bool
	// withHidden is /H, keep /K, readOnly /R, onlyThere /U.
	withHidden, keep, readOnly, onlyThere bool
	// newer is /D; since is its date, zero without one.
	newer bool
	since time.Time
	// excluded are the texts of the files of /EXCLUDE, in lower case.
	excluded []string
}

// parse reads options and paths. Options may stand one behind the other without a space.
func parse(preset string, args []string) (options, []string, error) {
	var o options
	var paths []string
	for _, field := range strings.Fields(preset) {
		if err := o.set(strings.TrimPrefix(field, "/")); err != nil {
			return o, nil, err
		}
	}

	for _, arg := range args {
		name, isOption := strings.CutPrefix(arg, "/")
		if !isOption {
			paths = append(paths, arg)
			continue
		}

		if strings.HasPrefix(strings.ToLower(name), "exclude:") {
			if err := o.set(name); err != nil {
				return o, nil, err
			}
			continue
		}
		for one := range strings.SplitSeq(name, "/") {
			if err := o.set(one); err != nil {
				return o, nil, err
			}
		}
	}

	if !o.help && (len(paths) == 0 || len(paths) > 2 || paths[0] == "") {
		return o, nil, errors.New("Invalid number of parameters") //nolint:staticcheck // Windows' words
	}
	return o, paths, nil
}

// set sets an option.
func (o *options) set(text string) error {
	name, value, _ := strings.Cut(strings.ToLower(text), ":")
	switch name {
	case "?":
		o.help = true
	case "s":
		o.below = true
	case "e":
		o.below, o.empty = true, true
	case "t":
		o.below, o.onlyFolders = true, true
	case "i":
		o.isFolder = true
	case "y":
		o.overwrite = true
	case "-y":
		o.overwrite = false
	case "l":
		o.list = true
	case "q":
		o.quiet = true
	case "f":
		o.full = true
	case "c":
		o.goOn = true
	case "h":
		o.withHidden = true
	case "k":
		o.keep = true
	case "r":
		o.readOnly = true
	case "u":
		o.onlyThere = true
	case "v", "z", "b", "j", "g", "compress": // how, not what
	case "d":
		return o.date(value)
	case "exclude":
		return o.exclude(text[len("exclude:"):])
	default: // of those that Windows has: /A, /M, /N, /O, /P, /W, /X
		return fmt.Errorf("Invalid switch - /%s", text) //nolint:staticcheck // Windows' words
	}

	return nil
}

// date reads the date of /D.
func (o *options) date(text string) error {
	o.newer = true
	if text == "" {
		return nil
	}
	var err error
	if o.since, err = time.ParseInLocation("1-2-2006", text, time.Local); err != nil {
		return fmt.Errorf("Invalid date - %s", text) //nolint:staticcheck // Windows' words
	}
	return nil
}

// exclude reads the files of /EXCLUDE, a text a line.
func (o *options) exclude(files string) error {
	for file := range strings.SplitSeq(files, "+") {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("Can't read file: %s", file) //nolint:staticcheck // Windows' words
		}
		for line := range strings.Lines(strings.ToLower(string(text))) {
			if line = strings.TrimRight(line, "\r\n"); line != "" {
				o.excluded = append(o.excluded, line)
			}
		}
	}

	return nil
}

func usage(e program.Env) {
	e.Print("XCOPY source [destination] [/S [/E]] [/T] [/I] [/Y | /-Y] [/D[:m-d-y]] [/U] [/H] [/K] [/R]")
	e.Print("                           [/C] [/L] [/Q] [/F] [/EXCLUDE:file1[+file2]...]")
}
