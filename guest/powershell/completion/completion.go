package completion

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/lineedit"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/session"
)

// Session is where completions come from.
type Session struct {
	Scope cmdlet.Scope
	State *session.State
}

// mostMatches bounds how many completions a place has: nobody goes through more of them.
const mostMatches = 1000

// mostScanned bounds the text before the cursor, in characters. Behind a longer one there is no completion.
const mostScanned = 64 << 10

// At returns what may stand at a place of a line, in characters. Before are the lines of the same command before it.
func At(s Session, before, line string, cursor int) lineedit.Completion {
	lines, typed := []rune(before), []rune(line)
	if cursor > len(typed) || len(lines)+cursor > mostScanned {
		return lineedit.Completion{}
	}
	w := scan(append(lines, typed[:cursor]...))
	if w.comment {
		return lineedit.Completion{}
	}

	part, matches := s.complete(w)
	if len(matches) > mostMatches {
		matches = matches[:mostMatches]
	}
	return lineedit.Completion{
		Start:   cursor - len([]rune(part)),
		End:     cursor,
		Matches: matches,
	}
}

// complete returns the part of a word that has completions, and these.
func (s Session) complete(w word) (part string, matches []string) {
	if part, matches, is := s.ofVariable(w); is {
		return part, matches
	}
	if w.quote == 0 {
		if part, matches, is := ofType(w.text); is {
			return part, matches
		}
	}

	if len(w.before) == 0 {
		if found := s.commands(w); len(found) > 0 {
			return w.text, found
		}
		return w.text, s.paths(w, false)
	}

	command := w.before[0]
	if w.quote == 0 && strings.HasPrefix(w.text, "-") {
		if found := s.parameters(command, w.text); len(found) > 0 {
			return w.text, found
		}
	}

	if values, known := s.values(command, w); known {
		return w.text, values
	}
	folders := slices.Contains([]string{"cd", "chdir", "sl", "pushd", "set-location", "push-location"}, strings.ToLower(command))
	return w.text, s.paths(w, folders)
}

// begins reports whether a text begins with another, in letters of either case.
func begins(text, with string) bool {
	return len(text) >= len(with) && strings.EqualFold(text[:len(with)], with)
}

// sorted returns texts in their order, each once, in letters of either case.
func sorted(texts []string) []string {
	slices.SortFunc(texts, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return slices.CompactFunc(texts, strings.EqualFold)
}
