package machine

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
	"mullion.dev/mullion/internal/windows/wire/hostpower"
)

var update = flag.Bool("update", false, "rewrite what the programs print in testdata")

// fake is a Windows whose answers a test sets.
type fake struct {
	zone      string // what was set
	tasks     []Task
	services  map[uint32][]string
	variables map[string]string
	ended     bool
	power     string // what is asked of the host
	err       error
}

func (w *fake) Tasks() ([]Task, error) { return w.tasks, w.err }

func (w *fake) Services() (map[uint32][]string, error) { return w.services, w.err }

func (w *fake) Describe() (Machine, error) {
	return Machine{
		Host:       "WIN-1",
		Product:    "Microsoft Windows Server 2022 Datacenter",
		Version:    "10.0.20348 N/A Build 20348",
		Memory:     8 << 30,
		Processors: []string{"one", "two"},
		Boot:       time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Adapters: []program.Adapter{
			{Name: "Ethernet", Addresses: []program.Address{{IP: netip.MustParseAddr("192.0.2.1"), Bits: 24}}}, {Loopback: true},
		},
	}, w.err
}

func (w *fake) SetVariable(machine bool, name, value string) error {
	if machine {
		name = "machine " + name
	}
	w.variables[name] = value
	return w.err
}

func (w *fake) Value(key, name string) (string, error) {
	if key != `HKLM\Software\X` {
		return "", errors.New("no such key")
	}
	return "value of " + name, nil
}

func (w *fake) Zone(string) (Zone, error) {
	return Zone{
		ID: "W. Europe Standard Time", Standard: "W. Europe Standard Time", Daylight: "W. Europe Daylight Time", Bias: -60,
		DaylightBias: -60, HasDaylight: true, StandardBegins: "(M:10 D:5 DoW:0)", DaylightBegins: "(M:3 D:5 DoW:0)",
	}, w.err
}

func (w *fake) SetZone(id string, winter bool) error {
	if w.err == nil {
		w.zone = fmt.Sprint(id, " ", winter)
	}
	return w.err
}

func (w *fake) Zones() ([]Zone, error) {
	return []Zone{
		{ID: "UTC", Display: "(UTC) Coordinated Universal Time"}, {ID: "Tokyo Standard Time", Display: "(UTC+09:00) Osaka, Sapporo, Tokyo"},
	}, w.err
}

func (w *fake) MayEnd() error { return w.err }

func (w *fake) End() error {
	w.ended = true
	return w.err
}

func (w *fake) EndHost(restart bool, after time.Duration) error {
	if w.power != "" {
		return hostpower.ErrPending
	}
	w.power = fmt.Sprintf("restart %v after %s", restart, after)
	return nil
}

func (w *fake) KeepHost() (bool, error) {
	there := w.power != ""
	w.power = ""
	return there, nil
}

type result = programtest.Result

// run runs a program by its name, which is the first argument.
func run(t *testing.T, w *fake, input string, args ...string) result {
	t.Helper()
	programs := map[string]func(program.Env, System, []string) int{
		"setx":       Setx,
		"shutdown":   Shutdown,
		"systeminfo": Systeminfo,
		"tasklist":   Tasklist,
		"tzutil":     Tzutil,
		"w32tm":      W32tm,
	}
	return programtest.Run(input, func(e program.Env) int { return programs[args[0]](e, w, args[1:]) })
}
