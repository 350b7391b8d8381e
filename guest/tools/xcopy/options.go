package xcopy

import (
	"errors"
	"fmt"
	"os"
	"regexp"
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
	// prompt is /P, waits /W.
	prompt, waits bool
	// owners is /O, and /X, which asks for what is audited too.
	owners bool
	// newer is /D; since is its date, zero without one.
	newer bool
	since time.Time
	// excluded are the texts of the files of /EXCLUDE, in lower case.
	excluded []string
}

// parse reads options and paths. Options may stand one behind the other, and behind a path, without a space.
func parse(preset string, args []string) (options, []string, error) {
	var o options
	var paths []string
	for field := range strings.FieldsSeq(preset) {
		if err := o.set(strings.TrimPrefix(field, "/")); err != nil {
			return o, nil, err
		}
	}

	glued := regexp.MustCompile(`(?i)^([^/].*?)((?:/(?:-?[a-z]|d:[^/]*|exclude:.*))+)$`)
	for _, arg := range args {
		if parts := glued.FindStringSubmatch(arg); parts != nil {
			paths = append(paths, parts[1])
			arg = parts[2]
		}
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

// switches are the options without a value, by their names.
func (o *options) switches() map[string][]*bool {
	return map[string][]*bool{
		"?": {&o.help},
		"s": {&o.below},
		"e": {&o.below, &o.empty},
		"t": {&o.below, &o.onlyFolders},
		"i": {&o.isFolder},
		"y": {&o.overwrite},
		"l": {&o.list},
		"q": {&o.quiet},
		"f": {&o.full},
		"c": {&o.goOn},
		"h": {&o.withHidden},
		"k": {&o.keep},
		"r": {&o.readOnly},
		"u": {&o.onlyThere},
		"p": {&o.prompt},
		"w": {&o.waits},
		"o": {&o.owners},
		"x": {&o.owners},
		// How a file is copied, not which one.
		"v": {}, "z": {}, "j": {}, "g": {}, "compress": {},
	}
}

// set sets an option.
func (o *options) set(text string) error {
	name, value, _ := strings.Cut(text, ":")
	name = strings.ToLower(name)
	if set, ok := o.switches()[name]; ok {
		for _, one := range set {
			*one = true
		}
		return nil
	}

	switch name {
	case "-y":
		o.overwrite = false
		return nil
	case "d":
		return o.date(value)
	case "exclude":
		return o.exclude(value)
	default: // of those that Windows has: /A, /B, /M, /N
		return fmt.Errorf("Invalid switch - /%s", text) //nolint:staticcheck // Windows' words
	}
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
	e.Print("                           [/C] [/L] [/Q] [/F] [/P] [/W] [/EXCLUDE:file1[+file2]...]")
}
