package servicemonitor_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/tools/servicemonitor"
	"mullion.dev/mullion/internal/windows/wire/services"
	"mullion.dev/mullion/internal/windows/wire/services/servicestest"
	"mullion.dev/mullion/internal/windows/wire/winerr"
)

// run runs ServiceMonitor for the service web, or for others that args name.
func run(
	t *testing.T, m *servicestest.Manager, stop chan os.Signal, args ...string,
) (code int, out string, set []string) {
	t.Helper()
	var text bytes.Buffer
	code = servicemonitor.Run(&text, servicemonitor.System{
		Services: m,
		Environ:  []string{`=C:=C:\`, `PATH=C:\x`, "Color=red", "tmp=x", "SHAPE="},
		SetEnvironment: func(service string, variables []string) error {
			set = append([]string{service}, variables...)
			return nil
		},
		Stop:  stop,
		Every: time.Millisecond,
	}, args)
	return code, strings.ReplaceAll(text.String(), "\r\n", "\n"), set
}

func manager(t *testing.T, name string, ends *services.Status) *servicestest.Manager {
	t.Helper()
	m := &servicestest.Manager{}
	err := m.Create(name, services.Change{Type: services.OwnProcess, Start: services.StartDemand})
	if err != nil {
		t.Fatal(err)
	}
	s := m.Find(name)
	s.Ends, s.Asks = ends, 3
	return m
}

func TestRun(t *testing.T) {
	const started, stopping, stopped = "\n Service 'web' started \n", "\nStopping service 'web'\n",
		"\n Service 'web' has been stopped \n"
	end := func(exit winerr.Code, own uint32) *services.Status {
		return &services.Status{
			State:       services.Stopped,
			Exit:        uint32(exit),
			ServiceExit: own,
		}
	}

	for _, tc := range []struct {
		name string
		ends *services.Status
		code int
		out  string
	}{
		{"ends", end(0, 0), 0, started + stopped},
		{"fails", end(services.ProcessAborted, 0), 1067, started + stopped},
		{"fails_in_its_way", end(services.SpecificError, 7), 7, started + stopped},
		{"pauses", &services.Status{State: services.Paused}, 0, started + stopping + stopped},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, out, set := run(t, manager(t, "web", tc.ends), nil, "web")
			if diff := cmp.Diff(tc.out, out); diff != "" || code != tc.code || set != nil {
				t.Errorf("code %d, want %d; variables %q\n%s", code, tc.code, set, diff)
			}
		})
	}

	stop := make(chan os.Signal, 1)
	stop <- os.Interrupt
	m := manager(t, "web", nil)
	code, out, _ := run(t, m, stop, "web")
	want := started + "\nCTRL signal received. The process will now terminate.\n" + stopping + stopped
	if code != 0 || out != want || !cmp.Equal(m.Find("web").Controls, []uint32{services.ControlStop}) {
		t.Errorf("code %d, %q, want %q", code, out, want)
	}
}

func TestNotStarted(t *testing.T) {
	code, out, _ := run(t, &servicestest.Manager{}, nil, "web")
	if want := "\nERROR: Failed to start or query status of service 'web' error [80070424]\n"; code != 0x80070424 || out != want {
		t.Errorf("code %x, %q, want %q", code, out, want)
	}
	m := manager(t, "web", nil)
	m.Find("web").Refuses = winerr.Code(1053)
	if code, out, _ := run(t, m, nil, "web"); code != 0x8007041d || !strings.Contains(out, "error [8007041d]") {
		t.Errorf("code %x, %q", code, out)
	}
	if code, out, _ := run(t, m, nil); code != 0 || !strings.Contains(out, "USAGE: ServiceMonitor.exe [") {
		t.Errorf("code %x, %q", code, out)
	}
}

// TestVariables sees that w3svc gets the container's variables, and that a service that runs is started again for that.
func TestVariables(t *testing.T) {
	m := manager(t, "W3SVC", &services.Status{State: services.Stopped})
	h, err := m.Open("w3svc", services.StartRight)
	if err != nil {
		t.Fatal(err)
	}
	m.Find("w3svc").Asks = 100
	if err := h.Start(nil); err != nil {
		t.Fatal(err)
	}

	code, _, set := run(t, m, nil, "w3svc", "Pool")
	if code != 0 || !cmp.Equal(set, []string{"w3svc", "Color=red", "SHAPE="}) ||
		!cmp.Equal(m.Find("w3svc").Controls, []uint32{services.ControlStop}) {
		t.Errorf("code %d, variables %q, controls %v", code, set, m.Find("w3svc").Controls)
	}
}
