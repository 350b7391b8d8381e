package hostservice

import (
	"fmt"
	"io"

	"golang.org/x/sys/windows/svc"
)

// Run is the program of the service whose name is its argument. It returns an exit code.
func Run(stderr io.Writer, args []string) int {
	if len(args) != 1 {
		fmt.Fprint(stderr, "This is the program of a service, whose name it is told.\r\n")
		return 1
	}
	name := args[0]
	if err := svc.Run(name, service{}); err != nil {
		// 1063, ERROR_FAILED_SERVICE_CONTROLLER_CONNECT: a person has started it.
		const text = "%s: %v\r\nThis is the program of a service. It is started by: net start %s\r\n"
		fmt.Fprintf(stderr, text, name, err, name)
		return 1
	}
	return 0
}

// service is the service's side of the service control manager.
type service struct{}

// Execute runs until the service is told to stop.
func (service) Execute(_ []string, requests <-chan svc.ChangeRequest, status chan<- svc.Status) (bool, uint32) {
	status <- svc.Status{State: svc.Running, Accepts: svc.AcceptStop | svc.AcceptShutdown}
	for r := range requests {
		switch r.Cmd {
		case svc.Interrogate:
			status <- r.CurrentStatus
		case svc.Stop, svc.Shutdown:
			status <- svc.Status{State: svc.StopPending}
			return false, 0
		}
	}
	return false, 0
}
