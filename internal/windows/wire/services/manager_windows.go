package services

import (
	"errors"
	"strings"
	"syscall"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"

	"mullion.dev/mullion/internal/windows/wire/winerr"
)

// Local returns the service control manager of this Windows.
func Local() Manager { return local{} }

type local struct{}

// code makes a winerr.Code of an error of a system call.
func code(err error) error {
	if n, ok := errors.AsType[syscall.Errno](err); ok {
		return winerr.Code(n)
	}
	return err
}

// manager opens the manager, and closes it after f.
func manager(rights uint32, f func(windows.Handle) error) error {
	h, err := windows.OpenSCManager(nil, nil, rights)
	if err != nil {
		return code(err)
	}
	defer windows.CloseServiceHandle(h) //nolint:errcheck // there is nothing to lose
	return code(f(h))
}

// buffer calls f with growing buffers until one is large enough, and returns it. f returns the size that it needs.
func buffer(size uint32, f func(b *byte, size uint32) (uint32, error)) ([]byte, error) {
	for {
		b := make([]byte, max(size, 8))
		need, err := f(&b[0], uint32(len(b))) // it is small
		switch {
		case err == nil:
			return b, nil
		case !errors.Is(err, windows.ERROR_INSUFFICIENT_BUFFER) && !errors.Is(err, windows.ERROR_MORE_DATA):
			return nil, code(err)
		}
		size = max(need, size) + 256
	}
}

// List implements Manager.
func (local) List(types, states uint32, group *string) ([]Service, error) {
	var list []Service

	err := manager(windows.SC_MANAGER_CONNECT|windows.SC_MANAGER_ENUMERATE_SERVICE, func(m windows.Handle) error {
		in, err := pointer(group)
		if err != nil {
			return err
		}

		count := uint32(0)
		b, err := buffer(4<<10, func(b *byte, size uint32) (need uint32, err error) {
			err = windows.EnumServicesStatusEx(m, windows.SC_ENUM_PROCESS_INFO, types, states, b, size, &need, &count,
				nil, in)
			return need, err
		})
		if err != nil || count == 0 {
			return err
		}

		for _, s := range unsafe.Slice((*windows.ENUM_SERVICE_STATUS_PROCESS)(unsafe.Pointer(&b[0])), count) {
			name := windows.UTF16PtrToString(s.ServiceName)
			list = append(list, Service{
				Name:    name,
				Display: display(s.DisplayName, name),
				Status:  status(&s.ServiceStatusProcess),
			})
		}

		return nil
	})

	return list, err
}

func status(s *windows.SERVICE_STATUS_PROCESS) Status {
	return Status{
		Type:        s.ServiceType,
		State:       s.CurrentState,
		Accepts:     s.ControlsAccepted,
		Exit:        s.Win32ExitCode,
		ServiceExit: s.ServiceSpecificExitCode,
		CheckPoint:  s.CheckPoint,
		WaitHint:    s.WaitHint,
		PID:         s.ProcessId,
		Flags:       s.ServiceFlags,
	}
}

// pointer makes a C text, nil of nil.
func pointer(text *string) (*uint16, error) {
	if text == nil {
		return nil, nil // as above
	}
	return windows.UTF16PtrFromString(*text)
}

// pointers makes C texts.
func pointers(texts ...*string) (all []*uint16, err error) {
	for _, text := range texts {
		p, err := pointer(text)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// multi makes a list of C texts, each with a 0 after it, and one more at the end.
func multi(texts []string) *uint16 {
	if texts == nil {
		return nil
	}
	var list []uint16
	for _, text := range texts {
		list = append(append(list, utf16.Encode([]rune(text))...), 0)
	}

	list = append(list, 0)
	if len(texts) == 0 {
		list = append(list, 0)
	}

	return &list[0]
}

// split undoes multi.
func split(list *uint16) []string {
	var texts []string
	for list != nil && *list != 0 {
		text := windows.UTF16PtrToString(list)
		texts = append(texts, text)
		list = (*uint16)(unsafe.Add(unsafe.Pointer(list), 2*(len(utf16.Encode([]rune(text)))+1)))
	}
	return texts
}

// Create implements Manager.
func (local) Create(name string, c Change) error {
	return manager(windows.SC_MANAGER_CONNECT|windows.SC_MANAGER_CREATE_SERVICE, func(m windows.Handle) error {
		p, err := pointers(&name, c.Display, c.Binary, c.Group, c.Account, c.Password)
		if err != nil {
			return InvalidParameter
		}
		h, err := windows.CreateService(m, p[0], p[1], windows.SERVICE_ALL_ACCESS, c.Type, c.Start, c.ErrorControl,
			p[2],
			p[3], nil, multi(c.Needs), p[4], p[5])
		if err != nil {
			return err
		}
		return windows.CloseServiceHandle(h)
	})
}

// Open implements Manager.
func (local) Open(name string, rights uint32) (Handle, error) {
	var opened handle
	err := manager(windows.SC_MANAGER_CONNECT, func(m windows.Handle) error {
		p, err := pointer(&name)
		if err != nil {
			return InvalidName
		}
		h, err := windows.OpenService(m, p, rights)
		opened = handle{h, name}
		return err
	})
	if err != nil {
		return nil, err
	}

	return opened, nil
}

// DisplayName implements Manager. Wine's GetServiceDisplayName has no answer for a service without one.
func (l local) DisplayName(name string) (string, error) {
	h, err := l.Open(name, QueryConfig)
	if err != nil {
		return "", err
	}
	defer h.Close()
	c, err := h.Config()
	return c.Display, err
}

// KeyName implements Manager.
func (l local) KeyName(display string) (string, error) {
	all, err := l.List(Win32|Driver, StateAll, nil)
	if err != nil {
		return "", err
	}
	for _, s := range all {
		if strings.EqualFold(s.Display, display) {
			return s.Name, nil
		}
	}
	return "", DoesNotExist
}
