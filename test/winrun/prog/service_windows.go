package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"
)

// serve is a service: prog service NAME LOG ACCEPTS. It writes to a file what it is started with and which controls it
// gets. ACCEPTS is what it accepts, a letter each: stop, shutdown, preshutdown. Slow letters: d drains for 4 s before
// it stops, n does not stop at all, f ends as soon as it runs with code 3, F without saying so, D a second later, l
// answers the service control manager after 12 s, w writes what libraries go by to find out that they are in a service,
// x ends its process as soon as it hears of a stop.
func serve(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: prog service NAME LOG ACCEPTS")
	}
	log, err := os.OpenFile(args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	fmt.Println("service", args[0], "writes") // to where the service control manager was told
	if strings.Contains(args[2], "l") {
		time.Sleep(12 * time.Second)
	}
	return svc.Run(args[0], &service{log: log, accepts: args[2]})
}

// whoStarts returns the answer of Go's library, and the program's parent, by whose name .NET's
// WindowsServiceHelpers.IsWindowsService goes since 6.0.9 (https://github.com/dotnet/runtime/pull/74188).
func whoStarts() string {
	is, err := svc.IsWindowsService()
	if err != nil {
		return err.Error()
	}
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = windows.CloseHandle(snapshot) }()

	names, parent := map[uint32]string{}, uint32(0)
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(snapshot, &entry); err == nil; err = windows.Process32Next(snapshot, &entry) {
		names[entry.ProcessID] = windows.UTF16ToString(entry.ExeFile[:])
		if entry.ProcessID == windows.GetCurrentProcessId() {
			parent = entry.ParentProcessID
		}
	}

	return fmt.Sprintf("Go's answer %v, child of %s", is, names[parent])
}

type service struct {
	log     *os.File
	accepts string
}

func (s *service) say(format string, args ...any) {
	fmt.Fprintf(s.log, format+"\n", args...)
}

// Execute implements svc.Handler.
func (s *service) Execute(args []string, requests <-chan svc.ChangeRequest, status chan<- svc.Status) (bool, uint32) {
	s.say("started %q color %q", args, os.Getenv("COLOR"))
	status <- svc.Status{State: svc.StartPending}
	if strings.Contains(s.accepts, "w") {
		s.say("%s", whoStarts())
	}
	if strings.Contains(s.accepts, "F") {
		syscall.ExitProcess(5)
	}
	if strings.Contains(s.accepts, "D") { // when the manager has long gone on to other things
		time.Sleep(time.Second)
		syscall.ExitProcess(5)
	}

	accepts := svc.Accepted(0)
	for letter, bit := range map[string]svc.Accepted{
		"s": svc.AcceptStop, "h": svc.AcceptShutdown, "p": svc.AcceptPreShutdown,
	} {
		if strings.Contains(s.accepts, letter) {
			accepts |= bit
		}
	}

	status <- svc.Status{State: svc.Running, Accepts: accepts}
	if strings.Contains(s.accepts, "f") {
		return false, 3
	}

	for request := range requests {
		switch request.Cmd {
		case svc.Interrogate:
			status <- request.CurrentStatus
			continue
		case svc.Stop:
			s.say("stop")
			if strings.Contains(s.accepts, "x") {
				syscall.ExitProcess(0)
			}

		case svc.Shutdown:
			s.say("shutdown")
		case svc.PreShutdown:
			s.say("preshutdown")
		default:
			s.say("control %d", request.Cmd)
			continue
		}

		if strings.Contains(s.accepts, "n") {
			continue
		}
		status <- svc.Status{State: svc.StopPending}
		if strings.Contains(s.accepts, "d") {
			time.Sleep(4 * time.Second)
		}
		s.say("ended")
		return false, 0
	}

	return false, 0
}
