// Package nodescript writes the command that asks a Windows node several things at once, and takes apart what it
// printed. How the command gets to the node is for others: by a HostProcess pod (package nodepod), or on a host of this
// machine.
package nodescript

import "strings"

// mark begins the line before the output of each section.
const mark = "==mullion-diagnose=="

// end is the last mark: without it the output is not whole.
const end = "end"

// Section is one thing that a node is asked.
type Section struct {
	// Name is a line that no other section has.
	Name string
	// Command is of PowerShell and reads only. It has no double quotes, which Windows' programs do not agree on.
	Command string
}

// Own runs a command in a PowerShell of its own, so that one that a node's PowerShell does not have fails alone. The
// command has no quotes.
func Own(command string) string { return "powershell.exe -NoProfile -Command '" + command + "'" }

// Command returns the program, with its arguments, that asks the sections in order.
func Command(sections []Section) []string {
	var lines []string
	for _, s := range sections {
		lines = append(lines, "'"+mark+s.Name+"'")
		if s.Command != "" {
			lines = append(lines, s.Command)
		}
	}
	lines = append(lines, "'"+mark+end+"'")
	return []string{"powershell.exe", "-NoProfile", "-Command", strings.Join(lines, "; ")}
}

// Answer is what a section printed.
type Answer struct{ Name, Text string }

// Split takes apart what Command printed, with line ends as Linux has them. whole says that it ran to its end.
func Split(text string) (answers []Answer, whole bool) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for _, part := range strings.Split(text, mark)[1:] {
		name, body, _ := strings.Cut(part, "\n")
		name = strings.TrimSpace(name)
		if name == end {
			return answers, true
		}
		answers = append(answers, Answer{Name: name, Text: strings.TrimSpace(body)})
	}
	return answers, false
}
