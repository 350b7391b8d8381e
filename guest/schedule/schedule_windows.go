package schedule

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/mgr"
)

// Service is the name of the service of the engine.
const Service = "Schedule"

// This returns the tasks of this Windows.
func This() *Store {
	dir, err := windows.GetSystemWindowsDirectory()
	if err != nil {
		dir = `C:\windows`
	}
	return &Store{Tasks: filepath.Join(dir, `System32\Tasks`), State: filepath.Join(dir, "Tasks"), Ensure: ensure}
}

// ensure makes the service of the engine, which starts with Windows from then on, and starts it.
func ensure() error {
	m, err := mgr.Connect()
	if err != nil {
		return fmt.Errorf("start the service %s: %w", Service, err)
	}
	defer func() { _ = m.Disconnect() }()

	dir, err := windows.GetSystemDirectory()
	if err != nil {
		return err
	}
	program := filepath.Join(dir, "taskeng.exe")
	config := mgr.Config{
		ServiceType:    windows.SERVICE_WIN32_OWN_PROCESS,
		StartType:      mgr.StartAutomatic,
		ErrorControl:   mgr.ErrorNormal,
		BinaryPathName: program,
		DisplayName:    "Task Scheduler",
	}
	s, err := m.OpenService(Service)
	if err != nil {
		if s, err = m.CreateService(Service, program, config); err != nil {
			return fmt.Errorf("make the service %s: %w", Service, err)
		}
	}
	defer s.Close() //nolint:errcheck // it is done with

	is, err := s.Query()
	if err == nil && is.State != svc.Stopped {
		return nil
	}
	if had, err := s.Config(); err != nil || had.BinaryPathName != program {
		if err := s.UpdateConfig(config); err != nil {
			return fmt.Errorf("set up the service %s: %w", Service, err)
		}
	}
	if err := s.Start(); err != nil && !errors.Is(err, windows.ERROR_SERVICE_ALREADY_RUNNING) {
		return fmt.Errorf("start the service %s: %w", Service, err)
	}
	return nil
}

// Serve is the program of the service: it runs tasks until the service is told to stop.
func Serve() error { return svc.Run(Service, service{}) }

type service struct{}

// Execute runs the engine until the service is told to stop.
func (service) Execute(_ []string, requests <-chan svc.ChangeRequest, status chan<- svc.Status) (bool, uint32) {
	ctx, stop := context.WithCancel(context.Background()) //nolint:forbidigo // the root of this program
	defer stop()
	e := Engine{Store: This(), Booted: booted(), Every: 500 * time.Millisecond, Run: runAction}
	done := make(chan error, 1)
	go func() { done <- e.Serve(ctx) }()

	status <- svc.Status{State: svc.Running, Accepts: svc.AcceptStop | svc.AcceptShutdown}
	for {
		select {
		case <-done:
			return false, 1
		case r := <-requests:
			switch r.Cmd {
			case svc.Interrogate:
				status <- r.CurrentStatus
			case svc.Stop, svc.Shutdown:
				status <- svc.Status{State: svc.StopPending}
				stop()
				<-done
				return false, 0
			}
		}
	}
}

func runAction(ctx context.Context, a Action) (uint32, error) {
	return RunProgram(ctx, a, func(cmd *exec.Cmd, line string) {
		cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: line, HideWindow: true}
	})
}

// booted returns when this Windows was started: as its manager of services was, whose child this is.
func booted() time.Time {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(os.Getppid())) //nolint:gosec // an ID
	if err != nil {
		return time.Time{}
	}
	defer windows.CloseHandle(h) //nolint:errcheck // it was only asked
	var made, ended, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &made, &ended, &kernel, &user); err != nil {
		return time.Time{}
	}
	return time.Unix(0, made.Nanoseconds())
}
