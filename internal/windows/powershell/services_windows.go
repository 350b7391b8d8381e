package powershell

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/mgr"
)

// manager opens the manager of services, as users without rights of administrators may too.
func manager() (*mgr.Mgr, error) {
	h, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT|windows.SC_MANAGER_ENUMERATE_SERVICE)
	if err != nil {
		return nil, fmt.Errorf("open the manager of services: %w", err)
	}
	return &mgr.Mgr{Handle: h}, nil
}

// open opens a service with some rights.
func open(m *mgr.Mgr, name string, rights uint32) (*mgr.Service, error) {
	p, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	h, err := windows.OpenService(m.Handle, p, rights)
	if err != nil {
		return nil, fmt.Errorf("open the service %q: %w", name, err)
	}
	return &mgr.Service{Name: name, Handle: h}, nil
}

// services are the services of Windows.
func services() ([]service, error) {
	m, err := manager()
	if err != nil {
		return nil, err
	}
	defer func() { _ = m.Disconnect() }()
	names, err := m.ListServices()
	if err != nil {
		return nil, err
	}
	var all []service
	for _, name := range names {
		s, err := open(m, name, windows.SERVICE_QUERY_STATUS|windows.SERVICE_QUERY_CONFIG)
		if err != nil {
			continue // gone, or not this user's to see
		}
		is := service{name: name, display: name}
		if status, err := s.Query(); err == nil {
			is.status = stateName(status.State)
		}
		if config, err := s.Config(); err == nil && config.DisplayName != "" {
			is.display = config.DisplayName
		}
		all = append(all, is)
		_ = s.Close()
	}
	return all, nil
}

func stateName(state svc.State) string {
	return map[svc.State]string{
		svc.Stopped: "Stopped", svc.StartPending: "StartPending", svc.StopPending: "StopPending", svc.Running: "Running",
		svc.ContinuePending: "ContinuePending", svc.PausePending: "PausePending", svc.Paused: "Paused",
	}[state]
}

// control starts or stops a service, and waits until it has.
func control(ctx context.Context, name, action string, force bool) error {
	m, err := manager()
	if err != nil {
		return err
	}
	defer func() { _ = m.Disconnect() }()
	s, err := open(m, name, windows.SERVICE_QUERY_STATUS|windows.SERVICE_START|windows.SERVICE_STOP|
		windows.SERVICE_ENUMERATE_DEPENDENTS)
	if err != nil {
		return err
	}
	defer s.Close()
	want := svc.Running
	if action == "stop" {
		want = svc.Stopped
		err = stop(ctx, s, force)
	} else if err = s.Start(); errors.Is(err, windows.ERROR_SERVICE_ALREADY_RUNNING) {
		err = nil
	}
	if err != nil {
		return err
	}
	return reach(ctx, s, want)
}

// stop stops a service, with force those that need it before.
func stop(ctx context.Context, s *mgr.Service, force bool) error {
	needing, err := s.ListDependentServices(svc.Active)
	if err != nil {
		return err
	}
	if len(needing) > 0 && !force {
		return errHasDependents
	}
	for _, other := range needing {
		if err := control(ctx, other, "stop", true); err != nil {
			return err
		}
	}
	if _, err = s.Control(svc.Stop); errors.Is(err, windows.ERROR_SERVICE_NOT_ACTIVE) {
		err = nil
	}
	return err
}

// reach waits until a service is in a state. A service that ends while it is started has failed.
func reach(ctx context.Context, s *mgr.Service, want svc.State) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		status, err := s.Query()
		if err != nil {
			return err
		}
		switch {
		case status.State == want:
			return nil
		case want == svc.Running && status.State == svc.Stopped:
			return fmt.Errorf("it ended with %d", status.Win32ExitCode)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it is %s: %w", stateName(status.State), ctx.Err())
		case <-tick.C:
		}
	}
}
