package shell

import (
	"errors"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/cmdexe/disk"
	"mullion.dev/mullion/guest/cmdexe/wild"
	"mullion.dev/mullion/guest/lineedit"
)

// typed reads a line at the prompt: with an editor if input and output are consoles, otherwise as it comes. interrupted
// says that Ctrl+C gave up a line of the editor, which has shown that.
func (s *Shell) typed(prompt string) (line string, ok, interrupted bool) {
	line, err := s.o.Host.ReadLine(
		&lineedit.Editor{History: s.history, Complete: s.completion}, prompt, s.files[0], s.files[1])
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		s.print("%s", prompt)
		line, ok = s.readLine()
		if ok && s.echo && s.files[0] != nil && !s.o.System.Terminal(s.files[0]) {
			s.print("%s\r\n", line)
		}
		return line, ok, false
	case errors.Is(err, lineedit.ErrInterrupted):
		return "", false, true
	}
	return s.macros.expand(line), err == nil, false
}

// special are the characters for which a name is put into quotes (cmd /?, "special characters that require quotes").
const special = " &()[]{}^=;!'+,`~"

// completion returns the names of files and folders that begin with the word before the cursor: folders only for the
// commands that take one. What is behind the cursor is given up. So says cmd /? of the file name completion that /F:ON
// and CompletionChar turn on, whose character is Tab on every Windows since XP
// (https://learn.microsoft.com/en-us/windows-server/administration/windows-commands/cmd).
func (s *Shell) completion(line string, cursor int) lineedit.Completion {
	text := []rune(line)
	before := string(text[:cursor])
	start := wordStart(before)
	word := unquoted(before[start:])
	at := strings.LastIndexAny(word, `\/:`) + 1
	folder, name := word[:at], word[at:]
	if !wild.Has(name) {
		name += "*"
	}

	place := folder
	if place == "" {
		place = "."
	}
	items, err := s.o.Disk.List(s.full(place))
	if err != nil {
		return lineedit.Completion{}
	}
	c := lineedit.Completion{Start: len([]rune(before[:start])), End: len(text)}
	slices.SortFunc(items, func(a, b disk.Info) int { // by their names, whether or not these are put into quotes
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	for _, item := range items {
		if !wild.Match(name, item.Name) || (takesFolder(before[:start]) && !item.Folder()) {
			continue
		}
		match := folder + item.Name
		if strings.ContainsAny(match, special) {
			match = `"` + match + `"`
		}
		c.Matches = append(c.Matches, match)
	}

	return c
}

// wordStart returns where the word at the end of a text begins: behind the last delimiter outside of quotes.
func wordStart(text string) int {
	start, quoted := 0, false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case !quoted && (delimiter(c) || strings.IndexByte("&|<>()@", c) >= 0):
			start = i + 1
		}
	}
	return start
}

// takesFolder reports whether the command at the end of a text is one whose arguments are folders.
func takesFolder(text string) bool {
	command := text[strings.LastIndexAny(text, "&|()")+1:]
	first, _, _ := strings.Cut(strings.TrimLeft(command, " \t@"), " ")
	return slices.Contains([]string{"cd", "chdir", "md", "mkdir", "rd", "rmdir", "pushd"}, strings.ToLower(first))
}
