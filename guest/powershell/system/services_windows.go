package system

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unsafe"

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

// services returns the services of Windows.
func services() ([]Service, error) {
	m, err := manager()
	if err != nil {
		return nil, err
	}
	defer func() { _ = m.Disconnect() }()
	names, err := m.ListServices()
	if err != nil {
		return nil, err
	}

	var all []Service
	for _, name := range names {
		s, err := open(m, name, windows.SERVICE_QUERY_STATUS|windows.SERVICE_QUERY_CONFIG)
		if err != nil {
			continue // gone, or not this user's to see
		}
		is := Service{Name: name, Display: name}
		if status, err := s.Query(); err == nil {
			is.Status = stateName(status.State)
		}

		is.Display, is.Start = configured(s)
		is.Display = cmp.Or(is.Display, name)
		all = append(all, is)
		_ = s.Close()
	}

	return all, nil
}

func stateName(state svc.State) string {
	return map[svc.State]string{
		svc.Stopped: "Stopped", svc.StartPending: "StartPending", svc.StopPending: "StopPending",
		svc.Running:         "Running",
		svc.ContinuePending: "ContinuePending", svc.PausePending: "PausePending", svc.Paused: "Paused",
	}[state]
}

// configured returns a service's shown name and when it is started. Service.Config is not for this: it asks for more,
// which Wine does not answer.
func configured(s *mgr.Service) (display, start string) {
	size := uint32(1 << 10)
	for {
		buffer := make([]byte, size)
		config := (*windows.QUERY_SERVICE_CONFIG)(unsafe.Pointer(&buffer[0]))
		err := windows.QueryServiceConfig(s.Handle, config, size, &size)
		switch {
		case err == nil:
			return windows.UTF16PtrToString(config.DisplayName), startName(config.StartType)
		case !errors.Is(err, windows.ERROR_INSUFFICIENT_BUFFER) || size <= uint32(len(buffer)): // it is small
			return "", ""
		}
	}
}

// startName returns when a service of a type is started. Drivers, which start with the kernel, count as automatic.
func startName(kind uint32) string {
	switch kind {
	case mgr.StartManual:
		return "Manual"
	case mgr.StartDisabled:
		return "Disabled"
	}
	return "Automatic"
}

// startType returns the type of a name of -StartupType.
func startType(name string) uint32 {
	return map[string]uint32{
		"Automatic": mgr.StartAutomatic, "Manual": mgr.StartManual,
		"Disabled": mgr.StartDisabled,
	}[name]
}

// createService makes a service. binary is its whole command line, as CreateService takes it.
func createService(change ServiceChange) error {
	h, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CREATE_SERVICE)
	if err != nil {
		return fmt.Errorf("open the manager of services: %w", err)
	}
	defer func() { _ = windows.CloseServiceHandle(h) }()

	var needs *uint16
	if change.Needs != nil { // texts with a 0 after each, and one at the end
		list := strings.Join(change.Needs, "\x00") + "\x00\x00"
		if slices.Contains(change.Needs, "") {
			return errors.New("a service that it needs has no name")
		}
		needs = &utf16.Encode([]rune(list))[0]
	}

	name, err := windows.UTF16PtrFromString(change.Name)
	display, wrong := windows.UTF16PtrFromString(change.Display)
	binary, alsoWrong := windows.UTF16PtrFromString(change.Binary)
	if err := errors.Join(err, wrong, alsoWrong); err != nil {
		return err
	}

	made, err := windows.CreateService(h, name, display, windows.SERVICE_ALL_ACCESS, windows.SERVICE_WIN32_OWN_PROCESS,
		startType(change.Start), windows.SERVICE_ERROR_NORMAL, binary, nil, nil, needs, nil, nil)
	if err != nil {
		return err
	}
	s := &mgr.Service{Name: change.Name, Handle: made}
	defer s.Close()

	if change.Description == "" {
		return nil
	}
	return describe(s, change.Description)
}

func describe(s *mgr.Service, text string) error {
	p, err := windows.UTF16PtrFromString(text)
	if err != nil {
		return err
	}
	d := windows.SERVICE_DESCRIPTION{Description: p}
	return windows.ChangeServiceConfig2(s.Handle, windows.SERVICE_CONFIG_DESCRIPTION, (*byte)(unsafe.Pointer(&d)))
}

// changeService changes a service's texts and when it is started.
func changeService(change ServiceChange) error {
	m, err := manager()
	if err != nil {
		return err
	}
	defer func() { _ = m.Disconnect() }()
	s, err := open(m, change.Name, windows.SERVICE_CHANGE_CONFIG)
	if err != nil {
		return err
	}

	defer s.Close()
	var display *uint16
	if change.Display != "" {
		if display, err = windows.UTF16PtrFromString(change.Display); err != nil {
			return err
		}
	}

	start := uint32(windows.SERVICE_NO_CHANGE)
	if change.Start != "" {
		start = startType(change.Start)
	}
	err = windows.ChangeServiceConfig(s.Handle, windows.SERVICE_NO_CHANGE, start, windows.SERVICE_NO_CHANGE, nil, nil,
		nil, nil, nil, nil, display)
	if err == nil && change.Description != "" {
		err = describe(s, change.Description)
	}

	return err
}

// control starts or stops a service, and waits until it has, or deletes it.
func control(ctx context.Context, name, action string, force bool) error {
	m, err := manager()
	if err != nil {
		return err
	}
	defer func() { _ = m.Disconnect() }()

	if action == "delete" {
		s, err := open(m, name, windows.DELETE)
		if err != nil {
			return err
		}
		defer s.Close()
		return s.Delete()
	}

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
		return ErrHasDependents
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
