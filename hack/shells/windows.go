package main

import (
	_ "embed" // what Windows PowerShell has
	"errors"
	"strings"
)

// windowsNames has a line for each command of Windows PowerShell 5.1 on Windows 10.0.14393, of the modules of which
// something is here: its module, its name and its parameters, without -WhatIf, -Confirm, -UseTransaction, -CimSession,
// -ThrottleLimit and -AsJob. They are as PSScriptAnalyzer lists them
// (https://github.com/PowerShell/PSScriptAnalyzer/blob/4b0117ca/Engine/Settings/desktop-5.1.14393.206-windows.json).
//
//go:embed windows.txt
var windowsNames string

// command is a command of Windows PowerShell.
type command struct {
	module, name string
	parameters   []string
}

// windowsCommands returns them by their names in lower case.
func windowsCommands() (map[string]command, error) {
	all := map[string]command{}
	for line := range strings.Lines(windowsNames) {
		words := strings.Fields(line)
		if len(words) < 2 {
			return nil, errors.New("windows.txt: a line without a name: " + line)
		}
		all[strings.ToLower(words[1])] = command{words[0], words[1], words[2:]}
	}
	return all, nil
}
