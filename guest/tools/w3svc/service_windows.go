package w3svc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/windows/svc"
)

// stopWithin is how long requests have to end when the service is told to stop: less than ServiceMonitor.exe waits.
const stopWithin = 10 * time.Second

// Run is the service's program. It returns an exit code.
func Run(stderr io.Writer) int {
	if err := svc.Run(Name, service{}); err != nil {
		// 1063, ERROR_FAILED_SERVICE_CONTROLLER_CONNECT: a person has started it.
		fmt.Fprintf(stderr, "%s: %v\r\nThis is the program of a service. It is started by: net start %s\r\n", Name, err, Name)
		return 1
	}
	return 0
}

// service is the service's side of the service control manager.
type service struct{}

// Execute serves until the service is told to stop.
func (service) Execute(_ []string, requests <-chan svc.ChangeRequest, status chan<- svc.Status) (bool, uint32) {
	const accepted = svc.AcceptStop | svc.AcceptShutdown
	status <- svc.Status{State: svc.StartPending}
	log := NewLog(Logs)
	defer log.Close()
	site, err := os.OpenRoot(Site)
	if err != nil {
		return failedWith(err)
	}
	defer site.Close()

	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", Port))
	if err != nil {
		return failedWith(err)
	}

	server := NewServer(site, log)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	status <- svc.Status{State: svc.Running, Accepts: accepted}
	for {
		select {
		case err := <-ended:
			return failedWith(err)
		case r := <-requests:
			switch r.Cmd {
			case svc.Interrogate:
				status <- r.CurrentStatus
			case svc.Stop, svc.Shutdown:
				status <- svc.Status{State: svc.StopPending, WaitHint: uint32(stopWithin.Milliseconds())}
				stop(server)
				return false, 0
			}
		}
	}
}

// stop ends a server: requests have stopWithin.
func stop(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close() // what still runs is cut
	}
}

// failedWith is the end of a service by an error: Windows' code of it, or ERROR_EXCEPTION_IN_SERVICE.
func failedWith(err error) (bool, uint32) {
	if code, ok := errors.AsType[syscall.Errno](err); ok {
		return false, uint32(code)
	}
	return false, 1064
}
