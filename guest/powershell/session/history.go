package session

import (
	"slices"
	"time"
)

// mostEntries is how many commands a session remembers: $MaximumHistoryCount of 5.1
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_history).
const mostEntries = 4096

// Entry is a command that was typed at the prompt.
type Entry struct {
	ID         int64
	Command    string
	Status     string // Completed, Failed or Stopped
	Start, End time.Time
}

// History has the commands that were typed at a session's prompt, the oldest first. It is kept nowhere else.
type History struct {
	Entries []Entry
	last    int64
}

// Add puts a command into the history, with the next number.
func (h *History) Add(e Entry) {
	h.last++
	e.ID = h.last
	h.Entries = append(h.Entries, e)
	if over := len(h.Entries) - mostEntries; over > 0 {
		h.Entries = slices.Delete(h.Entries, 0, over)
	}
}
