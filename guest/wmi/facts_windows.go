package wmi

import (
	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/winproc"
	"mullion.dev/mullion/internal/windows/wire/services"
)

// theseFacts asks the service control manager, and the processes themselves.
func theseFacts() Facts {
	return Facts{
		Computer: program.ComputerName(),
		Service:  serviceOf,
		Process: func(id uint32) (winproc.Detail, bool) {
			d, err := winproc.DetailOf(id)
			return d, err == nil
		},
		Processes: func() int {
			all, _ := winproc.List() // none if they cannot be listed
			return len(all)
		},
	}
}

// serviceOf asks the manager for one service.
func serviceOf(name string) (s Service, known bool) {
	h, err := services.Local().Open(name, services.QueryConfig|services.QueryStatus)
	if err != nil {
		return s, false
	}
	defer h.Close() //nolint:errcheck // it was only read
	if s.Config, err = h.Config(); err != nil {
		return s, false
	}
	if s.Status, err = h.Status(); err != nil {
		return s, false
	}
	s.Description, _ = h.Description() // none if there is none
	delayed, _ := h.Number(services.LevelDelayed)
	s.Delayed = delayed != 0
	return s, true
}
