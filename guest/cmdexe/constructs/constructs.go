// Package constructs owns the table of batch constructs that cmd.exe has: each is a command line or a batch file with
// what it prints and how it ends, and the document that says so. The tests of package shell run them all, those of
// test/winrun some of them on Wine, and docs/compat/shells.md lists them. The package runs nothing itself.
package constructs

// Construct is one construct of the batch language, or of one of cmd.exe's builtins.
type Construct struct {
	Name string
	// Script is a batch file C:\w\t.cmd, which runs with ECHO off and the arguments Args. Line is a command line after
	// cmd /c, in C:\w. A construct has one of the two.
	Script, Args, Line string
	// Input is what it reads from its standard input.
	Input string
	// Out, Err and Code are its output, its errors and its exit code, with \n at the end of lines.
	Out, Err string
	Code     int32
	// Source is the URL of the document that says so, "" for the area's.
	Source string
}

// Area is a part of the language.
type Area struct {
	Title, Source string
	Constructs    []Construct
}

// Documents that say what cmd.exe does.
const (
	ss64      = "https://ss64.com/nt/"
	microsoft = "https://learn.microsoft.com/windows-server/administration/windows-commands/"
	// phases is the description of how cmd.exe reads a line, phase by phase, that batch programmers refer to.
	phases = "https://stackoverflow.com/questions/4094699/how-does-the-windows-command-interpreter-cmd-exe-parse-scripts"
)

// Areas returns all constructs, each in its area.
func Areas() []Area {
	return []Area{
		{"Reading a line: carets, quotes, delimiters", phases, quotingRows()},
		{"Arguments, and the modifiers of %~", ss64 + "syntax-args.html", argumentsRows()},
		{"Variables, their parts and replacements", ss64 + "syntax-substring.html", variablesRows()},
		{"Delayed expansion", ss64 + "delayedexpansion.html", delayedRows()},
		{"Chains, pipes and blocks", ss64 + "syntax-conditional.html", chainsRows()},
		{"Redirections", ss64 + "syntax-redirection.html", redirectionsRows()},
		{"if", microsoft + "if", conditionsRows()},
		{"for", microsoft + "for", loopsRows()},
		{"for /f", ss64 + "for_f.html", looptextRows()},
		{"call, goto, exit, setlocal", microsoft + "call", callsRows()},
		{"set, set /a, set /p", microsoft + "set_1", setsRows()},
		{"echo, rem, prompt", microsoft + "echo", echoRows()},
		{"Folders", microsoft + "cd", foldersRows()},
		{"Other builtins", microsoft + "cmd", builtinsRows()},
	}
}

// All returns the constructs of all areas.
func All() []Construct {
	var all []Construct
	for _, a := range Areas() {
		all = append(all, a.Constructs...)
	}
	return all
}
