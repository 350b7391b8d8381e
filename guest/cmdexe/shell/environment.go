package shell

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"mullion.dev/mullion/guest/cmdexe/disk"
	"mullion.dev/mullion/guest/cmdexe/expand"
)

// variable is a variable of the environment, with its name as it was written.
type variable struct{ name, value string }

// environment is the variables by their names in capitals.
type environment struct{ all map[string]variable }

func newEnvironment(environ []string) environment {
	e := environment{map[string]variable{}}
	for _, line := range environ {
		if line == "" {
			continue
		}
		if at := strings.IndexByte(line[1:], '='); at >= 0 { // the name may begin with =
			e.set(line[:at+1], line[at+2:])
		}
	}
	return e
}

func (e environment) clone() environment { return environment{maps.Clone(e.all)} }

func (e environment) get(name string) (string, bool) {
	v, ok := e.all[strings.ToUpper(name)]
	return v.value, ok
}

// set gives a variable a value; an empty one removes it.
func (e environment) set(name, value string) {
	key := strings.ToUpper(name)
	if value == "" {
		delete(e.all, key)
		return
	}
	if old, ok := e.all[key]; ok {
		name = old.name
	}
	e.all[key] = variable{name, value}
}

// sorted returns the variables whose names begin with a prefix.
func (e environment) sorted(prefix string) []variable {
	var found []variable
	prefix = strings.ToUpper(prefix)
	for _, key := range slices.Sorted(maps.Keys(e.all)) {
		if strings.HasPrefix(key, prefix) {
			found = append(found, e.all[key])
		}
	}
	return found
}

// environ returns what a program gets.
func (e environment) environ() []string {
	var lines []string
	for _, v := range e.sorted("") {
		lines = append(lines, v.name+"="+v.value)
	}
	return lines
}

// extensionVersion is the version of the command extensions.
const extensionVersion = 2

// lookup returns the value of a variable, or of one that cmd.exe makes up.
func (s *Shell) lookup(name string) (string, bool) {
	if value, ok := s.env.get(name); ok {
		return value, true
	}
	if !s.extensions {
		return "", false
	}

	switch strings.ToUpper(name) {
	case "CD":
		return s.dir, true
	case "DATE":
		return date(s.o.Now()), true
	case "TIME":
		return clock(s.o.Now()), true
	case "RANDOM":
		return strconv.Itoa(s.o.Random() & 0x7FFF), true
	case "ERRORLEVEL":
		return strconv.Itoa(int(s.code)), true
	case "CMDEXTVERSION":
		return strconv.Itoa(extensionVersion), true
	case "CMDCMDLINE":
		return s.o.CommandLine, true
	case "=EXITCODE":
		return s.exited, s.exited != ""
	case "HIGHESTNUMANODENUMBER":
		return "0", true
	}

	return "", false
}

func date(t time.Time) string { return t.Format("Mon 01/02/2006") }

func clock(t time.Time) string {
	return fmt.Sprintf("%2d:%02d:%02d.%02d", t.Hour(), t.Minute(), t.Second(), t.Nanosecond()/10_000_000)
}

// scope returns what names mean in the batch file that runs, or on the command line.
func (s *Shell) scope() expand.Scope {
	scope := expand.Scope{Lookup: s.lookup, Modify: s.modify}
	if f := s.frame; f != nil {
		scope.Argument, scope.Path = f.argument, f.path
		scope.All = func() string { return f.all }
	}
	return scope
}

// longest is the longest line that cmd.exe takes.
const longest = 8191

// late expands what stands in a command just before it runs: the variables of FOR, then !NAME!.
func (s *Shell) late(text string) string {
	text = s.inLoop(text)
	if s.delayed {
		text = expand.Delayed(text, expand.Scope{Lookup: s.lookup})
	}
	return text
}

// inLoop expands the variables of the FORs that run.
func (s *Shell) inLoop(text string) string {
	if s.loops == 0 {
		return text
	}
	return expand.Loop(text, func(name byte) (string, bool) {
		value, ok := s.vars[name]
		return value, ok
	}, s.modify)
}

// modify returns what %~ and its modifiers make of a value.
func (s *Shell) modify(value, modifiers string) string {
	value = trimQuotes(value)
	if modifiers == "" {
		return value
	}

	how, list, found := strings.Cut(strings.ToLower(modifiers), "$")
	if found {
		if value = s.findIn(strings.TrimSuffix(list, ":"), value); value == "" {
			return ""
		}
	} else if value == "" && !strings.ContainsAny(how, "fdps") {
		return ""
	}

	if strings.Trim(how, "s") == "" && how != "" {
		how += "f"
	}
	return s.describe(s.spelled(s.full(value)), how, found)
}

// describe gives the parts of a path that are asked for, in the order in which cmd.exe gives them.
func (s *Shell) describe(path, how string, whole bool) string {
	has := func(c string) bool { return strings.Contains(how, c) }
	var parts []string
	if strings.ContainsAny(how, "atz") {
		parts = s.facts(path, how)
	}

	folder, name := disk.Split(path)
	ending := ""
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		name, ending = name[:dot], name[dot:]
	}

	drive := disk.Volume(path)
	place := ""
	for _, part := range []struct{ letter, text string }{
		{"d", drive}, {"p", strings.TrimPrefix(folder, drive)}, {"n", name}, {"x", ending},
	} {
		if has(part.letter) {
			place += part.text
		}
	}

	if has("f") || (whole && !strings.ContainsAny(how, "dpnx")) {
		place = path
	}
	if place != "" {
		parts = append(parts, place)
	}

	return strings.Join(parts, " ")
}

// facts returns the attributes, the time and the size of a file, as asked for.
func (s *Shell) facts(path, how string) []string {
	info, err := s.o.Disk.Stat(path)
	if err != nil {
		return nil
	}
	var parts []string
	if strings.Contains(how, "a") {
		parts = append(parts, attributes(info))
	}

	if strings.Contains(how, "t") {
		parts = append(parts, info.Modified.Format("01/02/2006 03:04 PM"))
	}
	if strings.Contains(how, "z") {
		parts = append(parts, strconv.FormatInt(info.Size, 10))
	}

	return parts
}

// attributes shows attributes as %~a does.
func attributes(i disk.Info) string {
	shown := []byte("---------")
	for at, a := range []struct {
		bit    uint32
		letter byte
	}{{disk.Directory, 'd'}, {disk.ReadOnly, 'r'}, {disk.Archive, 'a'}, {disk.Hidden, 'h'}, {disk.System, 's'}} {
		if i.Attributes&a.bit != 0 {
			shown[at] = a.letter
		}
	}

	if i.Attributes&disk.Link != 0 {
		shown[8] = 'l'
	}

	return string(shown)
}

// spelled returns a path whose last name is spelled as its folder has it, as long as there is such a file.
func (s *Shell) spelled(path string) string {
	folder, name := disk.Split(path)
	if name == "" {
		return path
	}
	if info, err := s.o.Disk.Stat(path); err == nil && strings.EqualFold(info.Name, name) && info.Name != name {
		return folder + info.Name
	}
	return path
}

// findIn returns the first file of that name in the folders of a variable.
func (s *Shell) findIn(list, name string) string {
	folders, _ := s.env.get(list)
	for _, folder := range append([]string{s.dir}, strings.Split(folders, ";")...) {
		if folder = unquoted(folder); folder == "" {
			continue
		}
		if path := disk.Full(name, s.full(folder), s.driveDir); s.o.Disk.Exists(path) {
			return path
		}
	}
	return ""
}

// trimQuotes takes quotes off around a text.
func trimQuotes(text string) string {
	text = strings.TrimPrefix(text, `"`)
	return strings.TrimSuffix(text, `"`)
}
