package completion

import (
	"os"
	"strings"

	"mullion.dev/mullion/guest/powershell/provider"
)

// paths returns the paths that begin with a word: of files and folders, of keys of the registry, or the items of a
// drive of the session. folders says that only folders are wanted.
func (s Session) paths(w word, folders bool) []string {
	typed := unquoted(w)
	if matches, is := s.items(typed, w.quote); is {
		return matches
	}

	at := strings.LastIndexAny(typed, `\/`) + 1
	if at == 0 && len(typed) >= 2 && typed[1] == ':' { // c:x is a name in the drive's current folder
		at = 2
	}
	dir, name := typed[:at], typed[at:]
	var names []string
	if where := s.State.Placed(dir + "."); provider.OnRegistry.MatchString(where) {
		names = s.keys(where)
	} else {
		names = s.files(dir, folders)
	}

	var found []string
	for _, one := range sorted(names) { // by their names, whether or not these are put into quotes
		if !begins(one, name) {
			continue
		}
		if dir == "" {
			one = "." + s.State.Separator() + one
		}
		found = append(found, called(quotedIfNeeded(dir+one, w.quote), w))
	}
	return found
}

// files returns the names in a folder.
func (s Session) files(dir string, folders bool) []string {
	items, err := os.ReadDir(s.State.Path(dir + "."))
	if err != nil {
		return nil
	}

	var names []string
	for _, item := range items {
		isFolder := item.IsDir()
		if item.Type()&os.ModeSymlink != 0 {
			info, err := os.Stat(s.State.Path(dir + item.Name()))
			isFolder = err == nil && info.IsDir()
		}
		if isFolder || !folders {
			names = append(names, item.Name())
		}
	}
	return names
}

// keys returns the names of the keys below a path of the registry, which ends with a point or a key.
func (s Session) keys(where string) []string {
	k, err := provider.KeyOf(strings.TrimSuffix(strings.TrimRight(where, `\/`), `.`))
	if err != nil {
		return nil
	}
	names, _, err := s.State.System.Registry.Read(k.Name)
	if err != nil {
		return nil
	}
	return names
}

// items returns the items of a drive of the session: env:, alias:, function: and variable:.
func (s Session) items(typed string, quote rune) (matches []string, is bool) {
	drive, name, found := strings.Cut(typed, ":")
	if !found {
		return nil, false
	}

	var names []string
	switch strings.ToLower(drive) {
	case "env":
		for name := range s.State.Env {
			names = append(names, s.State.Spelled(name))
		}
	case "alias", "function", "variable":
		names = s.Scope.Drive(strings.ToLower(drive)).Names()
	default:
		return nil, false
	}

	slash := ""
	if strings.HasPrefix(name, `\`) || strings.HasPrefix(name, "/") {
		slash, name = name[:1], name[1:]
	}
	for _, one := range names {
		if begins(one, name) {
			matches = append(matches, quotedIfNeeded(drive+":"+slash+one, quote))
		}
	}
	return sorted(matches), true
}

// unquoted returns what a word that is being typed means: without its quotation marks and escapes.
func unquoted(w word) string {
	text := []rune(w.text)
	var b strings.Builder
	mark := rune(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		next := rune(0)
		if i+1 < len(text) {
			next = text[i+1]
		}

		switch {
		case mark == 0 && (c == '\'' || c == '"'):
			mark = c
		case mark != 0 && c == mark && next == mark:
			b.WriteRune(c)
			i++
		case mark != 0 && c == mark:
			mark = 0
		case c == '`' && mark != '\'' && next != 0:
			b.WriteRune(next)
			i++
		default:
			b.WriteRune(c)
		}
	}

	return b.String()
}

// quotedIfNeeded returns a text as an argument: in the quotation marks that are open, or in single ones if it would be
// several words or another thing without.
func quotedIfNeeded(text string, quote rune) string {
	needs := text == "" || strings.ContainsAny(text, " \t'`\"$#@(){}[];,&|<>") || strings.HasPrefix(text, "-")
	switch {
	case quote == '"':
		return `"` + strings.NewReplacer("`", "``", `"`, "`\"", "$", "`$").Replace(text) + `"`
	case quote == '\'' || needs:
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return text
}

// called returns a path as a command: in quotation marks it is one by the call operator only.
func called(path string, w word) string {
	if len(w.before) == 0 && !w.called && (path[0] == '\'' || path[0] == '"') {
		return "& " + path
	}
	return path
}
