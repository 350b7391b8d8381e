// Package servicemonitor owns ServiceMonitor.exe, the entry point of containers whose work is done by a service: it
// starts the service, and ends when the service does, or when the container is to end, which stops the service.
// Arguments and texts are those of Microsoft's (https://github.com/microsoft/IIS.ServiceMonitor), which the images of
// IIS and ASP.NET bring themselves.
//
// Microsoft's ends with 0 whenever the service has ended; this one ends with the service's exit code. Microsoft's gives
// the container's variables to an application pool of IIS, if the service is w3svc; there is no IIS here, so they go to
// the service of that name itself.
package servicemonitor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/internal/windows/wire/services"
	"mullion.dev/mullion/internal/windows/wire/winerr"
)

// System is what ServiceMonitor needs of Windows.
type System struct {
	Services services.Manager
	// Environ are the variables of the process, NAME=value.
	Environ []string
	// SetEnvironment writes the variables that a service gets when it is started.
	SetEnvironment func(service string, variables []string) error
	// Stop gets a signal when the container is to end.
	Stop <-chan os.Signal
	// Every is how often the service is asked.
	Every time.Duration
}

// iis is the service that gets the container's variables.
const iis = "w3svc"

// failed is HRESULT_FROM_WIN32 of an error, or E_FAIL.
func failed(err error) int {
	code, ok := errors.AsType[winerr.Code](err)
	if !ok {
		return 0x80004005
	}
	return int(0x80070000 | uint32(code)&0xffff)
}

// Run runs ServiceMonitor and returns its exit code.
func Run(out io.Writer, s System, args []string) int {
	say := func(format string, args ...any) {
		fmt.Fprint(out, strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\r\n"))
	}
	if len(args) == 0 {
		say("\nUSAGE: ServiceMonitor.exe [windows service name]\n       ServiceMonitor.exe w3svc [application pool]\n\n" +
			"Options:\n    windows service name    Name of the Windows service to monitor\n" +
			"    application pool        Name of the application pool to monitor; defaults to DefaultAppPool\n")
		return 0
	}

	m := monitor{
		System: s,
		say:    say,
		name:   args[0],
	}

	h, err := s.Services.Open(m.name, services.StartRight|services.StopRight|services.QueryStatus)
	if err != nil {
		say("\nERROR: Failed to start or query status of service '%s' error [%x]\n", m.name, failed(err))
		return failed(err)
	}
	defer h.Close()

	if strings.EqualFold(m.name, iis) {
		m.stop(h)
		if err := s.SetEnvironment(m.name, promoted(s.Environ)); err != nil {
			say("\nFailed to update IIS configuration\n")
			return failed(err)
		}
	}

	if err := m.start(h); err != nil {
		say("\nERROR: Failed to start or query status of service '%s' error [%x]\n", m.name, failed(err))
		return failed(err)
	}

	say("\n Service '%s' started \n", m.name)
	code, err := m.wait(h)
	if err != nil {
		say("\nERROR: Monitoring service '%s' wait error [%x]\n", m.name, failed(err))
		code = failed(err)
	}
	m.stop(h)
	return code
}

type monitor struct {
	System
	say  func(format string, args ...any)
	name string
}

// start starts the service if it does not run.
func (m monitor) start(h services.Handle) error {
	if err := h.Start(nil); err != nil && !errors.Is(err, services.AlreadyRunning) {
		return err
	}
	is, err := services.Await(h, services.StartPending)
	switch {
	case err != nil:
		return err
	case is.State == services.Running:
		return nil
	case is.State == services.StartPending:
		return winerr.Code(1460) // ERROR_TIMEOUT
	}
	return errors.New("the service has ended")
}

// wait waits until the service does not run any more, and returns its exit code, or until the container is to end.
func (m monitor) wait(h services.Handle) (int, error) {
	tick := time.NewTicker(m.Every)
	defer tick.Stop()

	for {
		is, err := h.Status()
		if err != nil {
			return 0, err
		}

		switch is.State {
		case services.StopPending:
			if is, err = services.Await(h, services.StopPending); err != nil {
				return 0, err
			}
			return exitCode(is), nil
		case services.Stopped, services.PausePending, services.Paused:
			return exitCode(is), nil
		}

		select {
		case <-m.Stop:
			m.say("\nCTRL signal received. The process will now terminate.\n")
			return 0, nil
		case <-tick.C:
		}
	}
}

// exitCode returns the exit code of a service that has ended.
func exitCode(s services.Status) int {
	if s.State != services.Stopped {
		return 0
	}
	if winerr.Code(s.Exit) == services.SpecificError {
		return int(s.ServiceExit)
	}
	return int(s.Exit)
}

// stop stops the service if it runs.
func (m monitor) stop(h services.Handle) {
	is, err := h.Status()
	if err == nil && is.State != services.Stopped && is.State != services.StopPending {
		m.say("\nStopping service '%s'\n", m.name)
		_, err = h.Control(services.ControlStop)
	}
	if err == nil {
		is, err = services.AwaitStop(h)
	}
	if err == nil && is.State != services.Stopped {
		err = winerr.Code(1460) // ERROR_TIMEOUT
	}
	if err != nil {
		m.say("\nERROR: Failed to stop or query status of service '%s' error [%x]\n", m.name, failed(err))
		return
	}

	m.say("\n Service '%s' has been stopped \n", m.name)
}

// promoted returns the variables that the service gets: all but those of the machine and of the user, which it has
// itself (the list of https://github.com/microsoft/IIS.ServiceMonitor).
func promoted(all []string) []string {
	own := []string{
		"TMP", "TEMP", "USERNAME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PSMODULEPATH", "PUBLIC",
		"USERDOMAIN", "ALLUSERSPROFILE", "PATHEXT", "PATH", "COMPUTERNAME", "COMSPEC", "OS", "PROCESSOR_IDENTIFIER",
		"PROCESSOR_LEVEL", "PROCESSOR_REVISION", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "SYSTEMDRIVE",
		"WINDIR", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "SYSTEMROOT", "COMMONPROGRAMFILES",
		"COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432", "DRIVERDATA",
	}
	return slices.DeleteFunc(slices.Clone(all), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return name == "" || slices.Contains(own, strings.ToUpper(name)) // "=C:=C:\x" has no name
	})
}
