// Package servicestest owns a service control manager in memory, for tests of what talks to one.
package servicestest

import (
	"slices"
	"strings"

	"mullion.dev/mullion/internal/windows/wire/services"
)

// Service is a service of the fake.
type Service struct {
	services.Service
	Config      services.Config
	Description string
	Failure     services.Failure
	Numbers     map[uint32]uint32
	// Args are those of the last start.
	Args []string
	// Refuses is the error of starting and stopping it.
	Refuses error
	// Late is how many starts it does not answer in time.
	Late int
	// Ends is how the service ends by itself, once it has been asked as often as Asks says; nil if it does not.
	Ends *services.Status
	Asks int
	// Controls are the control codes that it was sent.
	Controls []uint32
	deleted  bool
}

// Manager is a services.Manager in memory. A service that is started runs at once, one that is stopped is stopped.
type Manager struct {
	Services []*Service
	// Err is the error of every call.
	Err error
	// Rights are those with which services were opened.
	Rights []uint32
}

// Find returns a service by its name, nil if there is none.
func (m *Manager) Find(name string) *Service {
	for _, s := range m.Services {
		if strings.EqualFold(s.Name, name) && !s.deleted {
			return s
		}
	}
	return nil
}

// List implements services.Manager.
func (m *Manager) List(types, states uint32, group *string) ([]services.Service, error) {
	var list []services.Service
	for _, s := range m.Services {
		state := uint32(services.StateActive)
		if s.Status.State == services.Stopped {
			state = services.StateInactive
		}
		if !s.deleted && s.Status.Type&types != 0 && state&states != 0 && (group == nil || *group == s.Config.Group) {
			list = append(list, s.Service)
		}
	}
	if list == nil && group != nil {
		return nil, services.DoesNotExist
	}

	return list, m.Err
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// Create implements services.Manager.
func (m *Manager) Create(name string, c services.Change) error {
	switch {
	case m.Err != nil:
		return m.Err
	case m.Find(name) != nil:
		return services.Exists
	case strings.ContainsAny(name, `/\`):
		return services.InvalidName
	}

	s := &Service{Numbers: map[uint32]uint32{}}
	s.Name, s.Display = name, name
	s.Status = services.Status{
		Type:  c.Type,
		State: services.Stopped,
		Exit:  uint32(services.NeverStarted),
	}

	s.Config = services.Config{Account: "LocalSystem", Display: name}
	s.change(c)
	m.Services = append(m.Services, s)
	return nil
}

// Open implements services.Manager.
func (m *Manager) Open(name string, rights uint32) (services.Handle, error) {
	m.Rights = append(m.Rights, rights)
	s := m.Find(name)
	if s == nil {
		return nil, services.DoesNotExist
	}
	return handle{s, m}, m.Err
}

// DisplayName implements services.Manager.
func (m *Manager) DisplayName(name string) (string, error) {
	s := m.Find(name)
	if s == nil {
		return "", services.DoesNotExist
	}
	return s.Display, m.Err
}

// KeyName implements services.Manager.
func (m *Manager) KeyName(display string) (string, error) {
	for _, s := range m.Services {
		if strings.EqualFold(s.Display, display) && !s.deleted {
			return s.Name, m.Err
		}
	}
	return "", services.DoesNotExist
}

type handle struct {
	*Service
	m *Manager
}

func (handle) Close() error { return nil }

func (h handle) Status() (services.Status, error) {
	if h.Ends != nil && h.Service.Status.State == services.Running {
		if h.Asks--; h.Asks < 0 {
			h.Service.Status = *h.Ends
		}
	}
	return h.Service.Status, nil
}

func (h handle) Start(args []string) error {
	switch {
	case h.Refuses != nil:
		return h.Refuses
	case h.Late > 0:
		h.Late--
		return services.RequestTimeout
	case h.Service.Config.Start == services.StartDisabled:
		return services.Disabled
	case h.Service.Status.State != services.Stopped:
		return services.AlreadyRunning
	}

	h.Args = args
	h.Service.Status = services.Status{
		Type:    h.Service.Status.Type,
		State:   services.Running,
		Accepts: services.AcceptStop | services.AcceptShutdown,
		PID:     7,
	}

	return nil
}

func (h handle) Control(code uint32) (services.Status, error) {
	switch {
	case h.Service.Status.State == services.Stopped:
		return h.Service.Status, services.NotActive
	case h.Refuses != nil:
		return h.Service.Status, h.Refuses
	}
	h.Controls = append(h.Controls, code)
	if code == services.ControlStop {
		h.Service.Status = services.Status{Type: h.Service.Status.Type, State: services.Stopped}
	}
	return h.Service.Status, nil
}

func (h handle) Delete() error {
	h.deleted = true
	return nil
}

func (h handle) Dependents(states uint32) ([]services.Service, error) {
	all, err := h.m.List(services.Win32, states, nil)
	return slices.DeleteFunc(all, func(s services.Service) bool {
		return !slices.Contains(h.m.Find(s.Name).Config.Needs, h.Name)
	}), err
}

func (h handle) Config() (services.Config, error) { return h.Service.Config, nil }

func (h handle) Change(c services.Change) error {
	h.change(c)
	return nil
}

func (s *Service) change(c services.Change) {
	for _, number := range []struct {
		from uint32
		to   *uint32
	}{{c.Type, &s.Config.Type}, {c.Start, &s.Config.Start}, {c.ErrorControl, &s.Config.ErrorControl}} {
		if number.from != services.NoChange {
			*number.to = number.from
		}
	}

	for _, one := range []struct {
		from *string
		to   *string
	}{
		{c.Binary, &s.Config.Binary},
		{c.Group, &s.Config.Group},
		{c.Account, &s.Config.Account},
		{c.Display, &s.Config.Display},
		{c.Display, &s.Display},
	} {
		if one.from != nil {
			*one.to = text(one.from)
		}
	}

	if c.Needs != nil {
		s.Config.Needs = c.Needs
	}
}

func (h handle) Failure() (services.Failure, error) { return h.Service.Failure, nil }

func (h handle) SetFailure(f services.Failure) error {
	is := &h.Service.Failure
	if f.Actions != nil {
		is.Reset, is.Actions = f.Reset, f.Actions
	}
	if f.Reboot != nil {
		is.Reboot = f.Reboot
	}
	if f.Command != nil {
		is.Command = f.Command
	}
	return nil
}

func (h handle) Description() (string, error) { return h.Service.Description, nil }

func (h handle) Describe(text string) error {
	h.Service.Description = text
	return nil
}

func (h handle) Number(level uint32) (uint32, error) { return h.Numbers[level], nil }

func (h handle) SetNumber(level, value uint32) error {
	h.Numbers[level] = value
	return nil
}
