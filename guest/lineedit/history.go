package lineedit

import (
	"slices"
	"strings"
)

// mostLines is how many lines a history keeps: PSReadLine's MaximumHistoryCount
// (https://learn.microsoft.com/en-us/powershell/module/psreadline/set-psreadlineoption).
const mostLines = 4096

// History has the lines that were typed, the oldest first.
type History struct{ lines []string }

// Add puts a line into the history: not an empty one, and not the same twice in a row.
func (h *History) Add(line string) {
	if strings.TrimSpace(line) == "" {
		return
	}
	if n := len(h.lines); n > 0 && h.lines[n-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if over := len(h.lines) - mostLines; over > 0 {
		h.lines = slices.Delete(h.lines, 0, over)
	}
}

// Lines returns the lines, the oldest first.
func (h *History) Lines() []string { return slices.Clone(h.lines) }

// Clear forgets all lines.
func (h *History) Clear() { h.lines = nil }

// before returns the place of the last line before a place that begins with a text.
func (h *History) before(at int, prefix string) (int, bool) {
	for i := min(at, len(h.lines)) - 1; i >= 0; i-- {
		if strings.HasPrefix(strings.ToLower(h.lines[i]), strings.ToLower(prefix)) {
			return i, true
		}
	}
	return at, false
}
