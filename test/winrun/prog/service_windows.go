package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/windows/svc"
)

// serve is a service: prog service NAME LOG ACCEPTS. It writes to a file what it is started with and which controls it
// gets. ACCEPTS is what it accepts, a letter each: stop, shutdown, preshutdown. Slow letters: d drains for 4 s before it
// stops, n does not stop at all, f ends as soon as it runs with code 3, F without saying so.
func serve(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: prog service NAME LOG ACCEPTS")
	}
	log, err := os.OpenFile(args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return svc.Run(args[0], &service{log: log, accepts: args[2]})
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
	if strings.Contains(s.accepts, "F") {
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
