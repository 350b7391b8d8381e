package services

import (
	"cmp"
	"unsafe"

	"golang.org/x/sys/windows"
)

// handle is an open service.
type handle struct {
	windows.Handle
	name string
}

// Close implements Handle.
func (h handle) Close() error { return code(windows.CloseServiceHandle(h.Handle)) }

// Status implements Life.
func (h handle) Status() (Status, error) {
	s, need := windows.SERVICE_STATUS_PROCESS{}, uint32(0)
	err := windows.QueryServiceStatusEx(h.Handle, windows.SC_STATUS_PROCESS_INFO, (*byte)(unsafe.Pointer(&s)),
		uint32(unsafe.Sizeof(s)), &need)
	return status(&s), code(err)
}

// Start implements Life.
func (h handle) Start(args []string) error {
	var list []*uint16
	for _, arg := range args {
		p, err := windows.UTF16PtrFromString(arg)
		if err != nil {
			return InvalidParameter
		}
		list = append(list, p)
	}

	var first **uint16
	if len(list) > 0 {
		first = &list[0]
	}

	return code(windows.StartService(h.Handle, uint32(len(list)), first)) // there are few
}

// Control implements Life.
func (h handle) Control(control uint32) (Status, error) {
	s := windows.SERVICE_STATUS{}
	err := windows.ControlService(h.Handle, control, &s)
	return Status{
		Type:        s.ServiceType,
		State:       s.CurrentState,
		Accepts:     s.ControlsAccepted,
		Exit:        s.Win32ExitCode,
		ServiceExit: s.ServiceSpecificExitCode,
		CheckPoint:  s.CheckPoint,
		WaitHint:    s.WaitHint,
	}, code(err)
}

// Delete implements Life.
func (h handle) Delete() error { return code(windows.DeleteService(h.Handle)) }

// display returns the name that people see: the service's own, if it was made without one. Wine leaves it empty.
func display(text *uint16, name string) string { return cmp.Or(windows.UTF16PtrToString(text), name) }

// Dependents implements Life.
func (h handle) Dependents(states uint32) ([]Service, error) {
	count := uint32(0)
	b, err := buffer(1<<10, func(b *byte, size uint32) (need uint32, err error) {
		err = windows.EnumDependentServices(h.Handle, states, (*windows.ENUM_SERVICE_STATUS)(unsafe.Pointer(b)),
			size, &need, &count)
		return need, err
	})
	if err != nil || count == 0 {
		return nil, err
	}

	var list []Service
	for _, s := range unsafe.Slice((*windows.ENUM_SERVICE_STATUS)(unsafe.Pointer(&b[0])), count) {
		is := s.ServiceStatus
		name := windows.UTF16PtrToString(s.ServiceName)
		list = append(list, Service{
			Name:    name,
			Display: display(s.DisplayName, name),
			Status: Status{
				Type:        is.ServiceType,
				State:       is.CurrentState,
				Accepts:     is.ControlsAccepted,
				Exit:        is.Win32ExitCode,
				ServiceExit: is.ServiceSpecificExitCode,
				CheckPoint:  is.CheckPoint,
				WaitHint:    is.WaitHint,
			},
		})
	}

	return list, nil
}

// Config implements Settings.
func (h handle) Config() (Config, error) {
	b, err := buffer(1<<10, func(b *byte, size uint32) (need uint32, err error) {
		err = windows.QueryServiceConfig(h.Handle, (*windows.QUERY_SERVICE_CONFIG)(unsafe.Pointer(b)), size, &need)
		return need, err
	})
	if err != nil {
		return Config{}, err
	}

	c := (*windows.QUERY_SERVICE_CONFIG)(unsafe.Pointer(&b[0]))
	return Config{
		Type:         c.ServiceType,
		Start:        c.StartType,
		ErrorControl: c.ErrorControl,
		Tag:          c.TagId,
		Binary:       windows.UTF16PtrToString(c.BinaryPathName),
		Group:        windows.UTF16PtrToString(c.LoadOrderGroup),
		Account:      windows.UTF16PtrToString(c.ServiceStartName),
		Display:      display(c.DisplayName, h.name),
		Needs:        split(c.Dependencies),
	}, nil
}

// Change implements Settings.
func (h handle) Change(c Change) error {
	p, err := pointers(c.Binary, c.Group, c.Account, c.Password, c.Display)
	if err != nil {
		return InvalidParameter
	}
	return code(windows.ChangeServiceConfig(h.Handle, c.Type, c.Start, c.ErrorControl, p[0], p[1], nil,
		multi(c.Needs), p[2], p[3], p[4]))
}

// query asks for a level of QueryServiceConfig2.
func (h handle) query(level uint32) ([]byte, error) {
	return buffer(256, func(b *byte, size uint32) (need uint32, err error) {
		err = windows.QueryServiceConfig2(h.Handle, level, b, size, &need)
		return need, err
	})
}

// change sets a level of ChangeServiceConfig2.
func (h handle) change(level uint32, info unsafe.Pointer) error {
	return code(windows.ChangeServiceConfig2(h.Handle, level, (*byte)(info)))
}

// Description implements Texts.
func (h handle) Description() (string, error) {
	b, err := h.query(windows.SERVICE_CONFIG_DESCRIPTION)
	if err != nil {
		return "", err
	}
	return windows.UTF16PtrToString((*windows.SERVICE_DESCRIPTION)(unsafe.Pointer(&b[0])).Description), nil
}

// Describe implements Texts.
func (h handle) Describe(text string) error {
	p, err := windows.UTF16PtrFromString(text)
	if err != nil {
		return InvalidParameter
	}
	return h.change(windows.SERVICE_CONFIG_DESCRIPTION, unsafe.Pointer(&windows.SERVICE_DESCRIPTION{Description: p}))
}

// Number implements Texts.
func (h handle) Number(level uint32) (uint32, error) {
	b, err := h.query(level)
	if err != nil {
		return 0, err
	}
	return *(*uint32)(unsafe.Pointer(&b[0])), nil
}

// SetNumber implements Texts.
func (h handle) SetNumber(level, value uint32) error { return h.change(level, unsafe.Pointer(&value)) }

// Failure implements Settings.
func (h handle) Failure() (Failure, error) {
	b, err := h.query(windows.SERVICE_CONFIG_FAILURE_ACTIONS)
	if err != nil {
		return Failure{}, err
	}

	is := (*windows.SERVICE_FAILURE_ACTIONS)(unsafe.Pointer(&b[0]))
	reboot, command := windows.UTF16PtrToString(is.RebootMsg), windows.UTF16PtrToString(is.Command)
	f := Failure{
		Reset:   is.ResetPeriod,
		Reboot:  &reboot,
		Command: &command,
	}

	if is.Actions != nil {
		for _, a := range unsafe.Slice(is.Actions, is.ActionsCount) {
			f.Actions = append(f.Actions, Action{Type: a.Type, Delay: a.Delay})
		}
	}

	return f, nil
}

// SetFailure implements Settings.
func (h handle) SetFailure(f Failure) error {
	p, err := pointers(f.Reboot, f.Command)
	if err != nil {
		return InvalidParameter
	}
	info := windows.SERVICE_FAILURE_ACTIONS{
		ResetPeriod: f.Reset,
		RebootMsg:   p[0],
		Command:     p[1],
	}

	actions := make([]windows.SC_ACTION, len(f.Actions), len(f.Actions)+1)
	for i, a := range f.Actions {
		actions[i] = windows.SC_ACTION{Type: a.Type, Delay: a.Delay}
	}

	if f.Actions != nil { // an address and a count of 0: no actions
		info.ActionsCount, info.Actions = uint32(len(actions)), &actions[:1][0] // there are few
	}

	return h.change(windows.SERVICE_CONFIG_FAILURE_ACTIONS, unsafe.Pointer(&info))
}
