// Package tools owns the small console programs of Windows that scripts, probes and tests call and that Wine lacks,
// has only as empty programs, or has with less in them. They take the options that Windows documents, and have the
// output and exit codes of Windows' programs
// (https://learn.microsoft.com/windows-server/administration/windows-commands/windows-commands); an option that is not
// implemented is refused, mostly in the words with which Windows refuses an unknown one. All of them are one program,
// which chooses by the name of its file.
//
// The interface System is all that they need of Windows; the rest is plain Go, and is tested on any system.
package tools

import (
	"fmt"
	"io"
	"strings"

	"mullion.dev/mullion/internal/windows/wire/ourprograms"
)

// Env is the environment of a program: variables, standard streams and the system.
type Env struct {
	Getenv func(name string) string
	// Environ returns all variables, NAME=value.
	Environ func() []string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	System  System
}

// programs are those of package ourprograms.
func programs() map[string]func(Env, []string) int {
	return map[string]func(Env, []string) int{
		"certutil": certutil, "chcp": chcp, "choice": choice, "curl": runCurl, "eventcreate": eventcreate,
		"fc": fc, "find": find, "findstr": findstr, "getmac": getmac, "hostname": hostname, "icacls": icacls,
		"ipconfig": ipconfig, "klist": klist, "logmonitor": runLogMonitor, "more": more, "msiscsi": runMSiSCSI, "net": network, "netsh": netsh,
		"netstat": netstat, "nltest": nltest, "nslookup": nslookup, "robocopy": runRobocopy, "route": route, "sc": runSC,
		"servicemonitor": runServiceMonitor, "setx": setx, "shutdown": shutdown, "sort": sortLines, "systeminfo": systeminfo,
		"takeown": takeown, "tar": runTar, "tasklist": tasklist, "timeout": timeout, "tzutil": tzutil, "w32tm": w32tm, "w3svc": runW3SVC,
		"wevtutil": wevtutil, "where": where, "whoami": whoami, "wmic": wmic,
	}
}

// exitUnknown is the exit code for a name that is no program of this package.
const exitUnknown = 1

// Run runs the program named by the file self, and returns its exit code.
func (e Env) Run(self string, args []string) int {
	name := strings.ToLower(self[strings.LastIndexAny(self, `\/`)+1:])
	name, _, _ = strings.Cut(name, ".")
	run, ok := programs()[name]
	if !ok {
		e.complain("%s: the programs here are %s", name, strings.Join(ourprograms.Names(), ", "))
		return exitUnknown
	}
	return run(e, args)
}

// print writes a line, as Windows ends lines.
func (e Env) print(format string, args ...any) { fmt.Fprintf(e.Stdout, format+"\r\n", args...) }

// complain writes a line to standard error.
func (e Env) complain(format string, args ...any) { fmt.Fprintf(e.Stderr, format+"\r\n", args...) }

// unknown prints that an option is unknown, in the words that the newer programs of Windows share.
func (e Env) unknown(program, option string) {
	e.complain("ERROR: Invalid argument/option - '%s'.", option)
	e.complain("Type \"%s /?\" for usage.", strings.ToUpper(program))
}

// invalid prints that the arguments do not fit together.
func (e Env) invalid(program, what string) {
	e.complain("ERROR: Invalid syntax. %s", what)
	e.complain("Type \"%s /?\" for usage.", strings.ToUpper(program))
}

// option returns the name of an option in lower case, and whether the argument is an option.
func option(arg string) (string, bool) {
	if len(arg) < 2 || arg[0] != '/' && arg[0] != '-' {
		return "", false
	}
	return strings.ToLower(arg[1:]), true
}
