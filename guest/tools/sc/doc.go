// Package sc owns sc.exe, the command line of the service control manager: its arguments, the layout of its output, its
// texts and exit codes (https://learn.microsoft.com/windows-server/administration/windows-commands/sc-create and its
// neighbours). As on Windows everything is printed to standard output, and the exit code is the number of the error.
// What is asked of the manager is in package services.
//
// A command of Windows' sc that is not carried out fails with 50, "The request is not supported."
package sc

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/windows/wire/services"
	"mullion.dev/mullion/internal/windows/wire/winerr"
)

// program is one run of sc.
type program struct {
	out      io.Writer
	services services.Manager
}

// command is a command of sc. Its run gets the service's name and what follows it.
type command struct {
	usage string
	// unnamed: the command needs no service's name, and gets all its arguments.
	unnamed bool
	run     func(p program, name string, args []string) error
}

func commands() map[string]command {
	return map[string]command{
		"query":        {"[service name] [type= driver|service|all] [state= active|inactive|all] [group= name]", true, query},
		"queryex":      {"[service name] [type= driver|service|all] [state= active|inactive|all] [group= name]", true, queryEx},
		"qc":           {"[service name]", false, showConfig},
		"qdescription": {"[service name]", false, showDescription},
		"qfailure":     {"[service name]", false, showFailure},
		"qfailureflag": {"[service name]", false, showFailureFlag},
		"enumdepend":   {"[service name]", false, showDependents},
		"create":       {"[service name] [binPath= ] <option1> <option2>...", false, create},
		"config":       {"[service name] <option1> <option2>...", false, configure},
		"description":  {"[service name] [description]", false, describe},
		"failure":      {"[service name] <option1> <option2>...", false, setFailure},
		"failureflag":  {"[service name] [flag]", false, setFailureFlag},
		"start":        {"[service name] arg1 arg2 ...", false, start},
		"stop":         {"[service name]", false, control(services.ControlStop, services.StopRight)},
		"pause":        {"[service name]", false, control(services.ControlPause, services.PauseRight)},
		"continue":     {"[service name]", false, control(services.ControlContinue, services.PauseRight)},
		"interrogate":  {"[service name]", false, control(services.ControlInterrogate, services.Interrogate)},
		"control":      {"[service name] <value>", false, controlBy},
		"delete":       {"[service name]", false, remove},
	}
}

// missing returns the commands of Windows' sc that are not carried out.
func missing() []string {
	return []string{
		"boot", "getdisplayname", "getkeyname", "lock", "managedaccount", "preferrednode", "privs", "qmanagedaccount",
		"qpreferrednode", "qprivs", "qprotection", "qrunlevel", "qsidtype", "qtriggerinfo", "querylock", "quserservice",
		"sdset", "sdshow", "showsid", "sidtype", "triggerinfo",
	}
}

// failure is an error of a call: sc prints the call's name, and ends with the number.
type failure struct {
	call string
	err  error
}

func (f failure) Error() string { return f.call + ": " + f.err.Error() }
func (f failure) Unwrap() error { return f.err }

// failed names the call of an error; nil stays nil.
func failed(call string, err error) error {
	if err == nil {
		return nil
	}
	return failure{call, err}
}

// misuse is the error of arguments that do not fit. Its text is printed before the usage.
type misuse struct{ text string }

func (m misuse) Error() string { return m.text }

// Run runs sc and returns its exit code.
func Run(out io.Writer, m services.Manager, args []string) int {
	p := program{out: out, services: m}
	name := ""
	err := error(nil)
	if len(args) > 0 && strings.HasPrefix(args[0], `\\`) {
		err = failed("OpenSCManager", services.ServerUnavailable)
	} else {
		name, err = p.dispatch(args)
	}
	return p.end(name, err)
}

// dispatch carries out the command, and returns its name.
func (p program) dispatch(args []string) (string, error) {
	if len(args) == 0 {
		return "", misuse{}
	}

	name := strings.ToLower(args[0])
	c, ok := commands()[name]
	switch {
	case !ok && slices.Contains(missing(), name):
		return name, failed("sc "+name, services.NotSupported)
	case !ok:
		return "", misuse{"*** Unrecognized Command ***"}
	case c.unnamed:
		return name, c.run(p, "", args[1:])
	case len(args) == 1:
		return name, misuse{}
	}

	return name, c.run(p, args[1], args[2:])
}

// end prints an error, and returns the exit code.
func (p program) end(name string, err error) int {
	switch err := err.(type) { //nolint:errorlint // these are never wrapped
	case nil:
		return 0
	case failure:
		code, ok := err.err.(winerr.Code) //nolint:errorlint // as above
		if !ok {
			code = 1
		}
		p.print("[SC] %s FAILED %d:\n\n%v\n", err.call, code, err.err)
		return int(code)
	}

	if err.Error() != "" {
		p.print("%v\n", err)
	}
	p.usage(name)
	return int(services.InvalidCommand)
}

// usage prints how a command is called, or which commands there are.
func (p program) usage(name string) {
	if c, ok := commands()[name]; ok {
		p.print("USAGE:\n        sc <server> %s %s\n", name, c.usage)
		return
	}
	p.print("DESCRIPTION:\n        SC is a command line program used for communicating with the\n" +
		"        Service Control Manager and services.\nUSAGE:\n" +
		"        sc <server> [command] [service name] <option1> <option2>...\n\nCommands:")
	var names []string
	for name := range commands() {
		names = append(names, name)
	}
	slices.Sort(names)
	p.print("        %s\n", strings.Join(names, ", "))
}

// print writes lines, as Windows ends them.
func (p program) print(format string, args ...any) {
	fmt.Fprint(p.out, strings.ReplaceAll(fmt.Sprintf(format, args...)+"\n", "\n", "\r\n"))
}

// open opens a service for f.
func (p program) open(call, name string, rights uint32, f func(services.Handle) error) error {
	h, err := p.services.Open(name, rights)
	if err != nil {
		return failed(call, err)
	}
	defer h.Close()
	return f(h)
}
