package powershell

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/guest/eventlog"
)

// stageEvents is an event log that answers queries of a few forms by the place of words in them.
type stageEvents struct {
	logs    map[string][]eventlog.Event
	sources map[string]string
	asked   []string
}

func newStageEvents() *stageEvents {
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	of := func(log, provider string, id uint16, level byte, minute int, texts ...string) eventlog.Event {
		return eventlog.Event{
			Log: log, Provider: provider, ID: id, Level: level, Record: uint64(minute), Computer: "win-1", Data: texts,
			Time: when.Add(time.Duration(minute) * time.Minute), Message: strings.Join(texts, " "),
		}
	}
	bare := of("Application", "bare", 9, 4, 3, "x", "y")
	bare.Message = ""

	return &stageEvents{
		logs: map[string][]eventlog.Event{
			"Application": {
				of("Application", "kubelet", 1, 4, 1, "begun"),
				of("Application", "kubelet", 2, 2, 2, "broke\nat once"), bare,
			},
			"System":   {of("System", "Service Control Manager", 7036, 4, 4, "kubelet", "running")},
			"Security": nil,
		},
		sources: map[string]string{"kubelet": "Application", "Service Control Manager": "System"},
	}
}

func (s *stageEvents) Logs() ([]string, error) { return slices.Sorted(maps.Keys(s.logs)), nil }

func (s *stageEvents) Events(q eventlog.Query, f func(eventlog.Event) bool) error {
	s.asked = append(s.asked, q.XPath)
	all, ok := s.logs[q.Log]
	if !ok {
		return eventlog.NoSuchChannel
	}
	if strings.Contains(q.XPath, "!!") {
		return eventlog.InvalidQuery
	}

	all = slices.Clone(all)
	if q.Newest {
		slices.Reverse(all)
	}

	for _, e := range all {
		if (strings.Contains(q.XPath, "EventID=2") && e.ID != 2) || (strings.Contains(q.XPath, "@Name='kubelet'") &&
			e.Provider != "kubelet") ||
			strings.Contains(q.XPath, "Level=1") {
			continue
		}
		if !f(e) {
			break
		}
	}

	return nil
}

func (s *stageEvents) Clear(log string) error {
	if _, ok := s.logs[log]; !ok {
		return eventlog.NoSuchChannel
	}
	s.logs[log] = nil
	return nil
}

func (s *stageEvents) Info(log string) (eventlog.Info, error) {
	return eventlog.Info{MaxBytes: 20 << 20, Records: uint64(len(s.logs[log]))}, nil
}

func (s *stageEvents) Write(e eventlog.Entry) error {
	level := map[uint16]byte{eventlog.ErrorType: 2, eventlog.Warning: 3}[e.Type]
	if level == 0 {
		level = 4
	}
	all := s.logs[e.Log]
	s.logs[e.Log] = append(all, eventlog.Event{
		Log: e.Log, Provider: e.Source, ID: uint16(e.ID), Level: level, Task: e.Category, Record: uint64(len(all) + 1),
		Time: time.Date(2026, 2, 1, 0, 0, 0, 0, time.Local), Message: e.Text, Data: []string{e.Text},
	})
	return nil
}

func (s *stageEvents) Register(log, source string) error {
	s.sources[source] = log
	if s.logs[log] == nil {
		s.logs[log] = nil
	}
	return nil
}

func (s *stageEvents) Providers() ([]string, error) { return slices.Sorted(maps.Keys(s.sources)), nil }

func (s *stageEvents) LogOf(source string) (string, bool) {
	log, ok := s.sources[source]
	return log, ok
}

// TestEventQueries holds what is asked of the event log.
func TestEventQueries(t *testing.T) {
	for script, want := range map[string]string{
		"Get-WinEvent -FilterHashtable @{LogName='Application'; Id=1,2; Level=2; ProviderName='a'}": "*[System[Provider[@Name='a'] and (EventID=1 or EventID=2) and (Level=2)]]",
		"Get-WinEvent Application -FilterXPath '*[System[EventID=2]]'":                              "*[System[EventID=2]]",
		"Get-EventLog Application -Newest 1":                                                        "*",
	} {
		events := newStageEvents()
		windows := stageWindows()
		windows.Events = events
		s := Session{
			Args: []string{"/c", script + " | Out-Null"}, Stdin: strings.NewReader(""), Stdout: new(strings.Builder),
			Stderr: new(strings.Builder), Newline: "\n", windows: windows,
		}
		s.Run(t.Context())
		if got := strings.Join(events.asked, "\n"); got != want {
			t.Errorf("%s asks for %q, want %q", script, got, want)
		}
	}
}
