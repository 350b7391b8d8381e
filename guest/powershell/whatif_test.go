package powershell

import (
	"slices"
	"strings"
	"testing"

	"mullion.dev/mullion/guest/powershell/engine"
)

// TestWhatEachCmdletChanges holds that of each cmdlet it is known whether -WhatIf has to keep it from its work: by its
// verb, or, where the verb says nothing, by its name.
func TestWhatEachCmdletChanges(t *testing.T) {
	reads := []string{
		"compare", "convert", "convertfrom", "convertto", "find", "foreach", "get", "group", "import", "invoke", "join", "measure",
		"read", "receive", "resolve", "select", "sort", "split", "test", "wait", "where", "write", "save", "show",
	}

	session := []string{
		"add-member", "add-type", "clear-host", "export-modulemember", "new-guid", "new-object", "new-timespan",
		"out-default", "out-host", "out-null", "out-string", "pop-location", "push-location", "set-location", "set-psdebug",
		"set-strictmode", "start-job", "start-sleep", "tee-object", "format-custom", "format-hex", "format-list", "format-table",
		"format-wide", "enter-pssession", "exit-pssession", "new-event", "register-engineevent", "register-objectevent",
		"oss", "pause",
	}

	for _, c := range Cmdlets() {
		name := strings.ToLower(c.Name)
		verb, _, _ := strings.Cut(name, "-")
		known := slices.Contains(reads, verb) || slices.Contains(session, name)
		if known == engine.Changes(c.Name) {
			t.Errorf("%s: it changes something: %v; that it does not is known: %v", c.Name, engine.Changes(c.Name), known)
		}
	}
}
