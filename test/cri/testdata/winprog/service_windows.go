package main

import (
	"fmt"

	"golang.org/x/sys/windows/svc"
)

// idle is a service that does nothing until it is stopped.
type idle struct{}

func (idle) Execute(
	_ []string, requests <-chan svc.ChangeRequest, status chan<- svc.Status,
) (ownCode bool, code uint32) {
	status <- svc.Status{State: svc.Running, Accepts: svc.AcceptStop | svc.AcceptShutdown}
	for r := range requests {
		if r.Cmd == svc.Stop || r.Cmd == svc.Shutdown {
			return false, 0
		}
		status <- r.CurrentStatus
	}
	return false, 0
}

// service runs this process as a service.
func service(name string) {
	if err := svc.Run(name, idle{}); err != nil {
		fmt.Println("run service:", err)
	}
}
