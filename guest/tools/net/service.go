package net

import (
	"bufio"
	"errors"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/internal/windows/wire/services"
	"mullion.dev/mullion/internal/windows/wire/winerr"
)

// Messages of net, which NET HELPMSG explains (lmerr.h).
const (
	netAlreadyStarted = 2182
	netNoService      = 2185
	netNotStarted     = 3521
	netNotStopped     = 3522
	netStartFailed    = 3523
	netNoError        = 3534
	netSpecific       = 3547
)

// netMessage prints a message of net as an error.
func netMessage(e program.Env, number int, text string) int {
	e.Complain("%s\r\n\r\nMore help is available by typing NET HELPMSG %d.\r\n", text, number)
	return netFailed
}

// netCode prints an error of Windows.
func netCode(e program.Env, err error) int {
	code, ok := errors.AsType[winerr.Code](err)
	if !ok {
		e.Complain("%v", err)
		return netFailed
	}
	e.Complain("System error %d has occurred.\r\n\r\n%v\r\n", uint32(code), err)
	return netFailed
}

// service is net start and net stop: a service is named by its own name or by the one that is shown.
func service(e program.Env, sys System, verb string, args []string) int {
	name := ""
	yes := false
	help := false
	for _, arg := range args {
		switch strings.ToLower(arg) {
		case "/y", "/yes":
			yes = true
		case "/n", "/no":
		case "/?", "/help":
			help = true
		default:
			if name != "" {
				help = true
			}
			name = arg
		}
	}

	m := sys.Services()
	switch {
	case help || (name == "" && verb == "stop"):
		e.Complain("The syntax of this command is:\r\n\r\nNET %s\r\n%s\r\n", strings.ToUpper(verb),
			map[string]string{"start": "[service]", "stop": "service"}[verb])
		if slices.ContainsFunc(args, func(arg string) bool { return arg == "/?" || strings.EqualFold(arg, "/help") }) {
			return netDone
		}
		return netSyntax
	case name == "":
		return started(e, m)
	}

	return startOrStop(e, m, verb, name, yes)
}

// startOrStop finds a service by either of its names, and starts or stops it.
func startOrStop(e program.Env, m services.Manager, verb, name string, yes bool) int {
	if key, err := m.KeyName(name); err == nil {
		name = key
	}

	display, err := m.DisplayName(name)
	if err != nil {
		if errors.Is(err, services.DoesNotExist) || errors.Is(err, services.InvalidName) {
			return netMessage(e, netNoService, "The service name is invalid.")
		}
		return netCode(e, err)
	}

	rights := uint32(services.QueryStatus | services.StartRight)
	if verb == "stop" {
		rights = services.QueryStatus | services.StopRight | services.EnumerateDep
	}
	h, err := m.Open(name, rights)
	if err != nil {
		return netCode(e, err)
	}
	defer h.Close()
	if verb == "start" {
		return startService(e, h, display)
	}

	return stopService(e, m, h, display, yes)
}

// started lists the services that run, by the names that are shown.
func started(e program.Env, m services.Manager) int {
	all, err := m.List(services.Win32, services.StateActive, nil)
	if err != nil {
		return netCode(e, err)
	}
	var names []string
	for _, s := range all {
		names = append(names, s.Display)
	}

	slices.SortFunc(names, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	e.Print("These Windows services are started:\r\n")
	for _, name := range names {
		e.Print("   %s", name)
	}

	e.Print("\r\nThe command completed successfully.\r\n")
	return netDone
}

func startService(e program.Env, h services.Handle, display string) int {
	switch err := h.Start(nil); {
	case errors.Is(err, services.AlreadyRunning):
		return netMessage(e, netAlreadyStarted, "The requested service has already been started.")
	case err != nil:
		return netCode(e, err)
	}

	e.Print("The %s service is starting.", display)
	is, err := services.Await(h, services.StartPending)
	switch {
	case err != nil:
		return netCode(e, err)
	case is.State == services.Running:
		e.Print("The %s service was started successfully.\r\n", display)
		return netDone
	case is.State == services.StartPending:
		return netMessage(e, netStartFailed, "The "+display+" service could not be started.")
	}

	e.Complain("The %s service could not be started.\r\n", display)
	switch code := winerr.Code(is.Exit); code {
	case 0, services.NeverStarted:
		return netMessage(e, netNoError, "The service did not report an error.")
	case services.SpecificError:
		e.Complain("A service specific error occurred: %d.\r\n\r\nMore help is available by typing NET HELPMSG %d.\r\n",
			is.ServiceExit, netSpecific)
		return netFailed
	default:
		e.Complain("A system error has occurred.\r\n")
		return netCode(e, code)
	}
}

// stopService stops the services that need a service before it, if that is wanted.
func stopService(e program.Env, m services.Manager, h services.Handle, display string, yes bool) int {
	needing, err := h.Dependents(services.StateActive)
	if err != nil {
		return netCode(e, err)
	}

	if len(needing) > 0 {
		e.Print("The following services are dependent on the %s service.\r\n"+
			"Stopping the %s service will also stop these services.\r\n", display, display)
		for _, s := range needing {
			e.Print("   %s", s.Display)
		}

		e.Print("")
		if !yes && !agreed(e) {
			return netFailed
		}
	}

	for _, s := range needing {
		other, err := m.Open(s.Name, services.QueryStatus|services.StopRight)
		if err != nil {
			return netCode(e, err)
		}
		code := stopOne(e, other, s.Display)
		_ = other.Close()
		if code != netDone {
			return code
		}
	}

	return stopOne(e, h, display)
}

// agreed asks whether to go on.
func agreed(e program.Env) bool {
	_, _ = e.Stdout.Write([]byte("Do you want to continue this operation? (Y/N) [N]: "))
	line, _ := bufio.NewReader(e.Stdin).ReadString('\n') // the end of the input is a no
	e.Print("")
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "y")
}

func stopOne(e program.Env, h services.Handle, display string) int {
	switch _, err := h.Control(services.ControlStop); {
	case errors.Is(err, services.NotActive):
		return netMessage(e, netNotStarted, "The "+display+" service is not started.")
	case err != nil:
		return netCode(e, err)
	}

	e.Print("The %s service is stopping.", display)
	is, err := services.AwaitStop(h)
	switch {
	case err != nil:
		return netCode(e, err)
	case is.State != services.Stopped:
		return netMessage(e, netNotStopped, "The "+display+" service could not be stopped.")
	}

	e.Print("The %s service was stopped successfully.\r\n", display)
	return netDone
}
