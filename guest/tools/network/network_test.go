package network

import (
	"errors"
	"flag"
	"strings"
	"testing"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
	"mullion.dev/mullion/guest/winnet"
)

var update = flag.Bool("update", false, "rewrite what the programs print in testdata")

// fake is a Windows whose answers a test sets.
type fake struct {
	adapters []program.Adapter
	urls     map[string]string
	forwards bool
	err      error
}

func (w *fake) HostName() string                         { return "win-1" }
func (w *fake) Adapters() ([]program.Adapter, error)     { return w.adapters, w.err }
func (w *fake) Routes() ([]winnet.Route, error)          { return programtest.Routes(), w.err }
func (w *fake) Reservations() (map[string]string, error) { return w.urls, w.err }

func (w *fake) Forwards() (bool, error) { return w.forwards, w.err }

func (w *fake) Reserve(url, user string) error {
	if w.urls == nil {
		w.urls = map[string]string{}
	}
	w.urls[url] = user
	if user == "" {
		delete(w.urls, url)
	}
	return w.err
}

type result = programtest.Result

// run runs a program by its name, which is the first argument.
func run(t *testing.T, w *fake, input string, args ...string) result {
	t.Helper()
	programs := map[string]func(program.Env, System, []string) int{
		"getmac":   Getmac,
		"hostname": Hostname,
		"ipconfig": Ipconfig,
		"netsh":    Netsh,
		"route":    Route,
	}
	return programtest.Run(input, func(e program.Env) int { return programs[args[0]](e, w, args[1:]) })
}

// TestGoldens runs the command lines in testdata. Most of what ipconfig prints there was first written by the program
// in C that was here before, for the same adapters under Wine.
func TestGoldens(t *testing.T) {
	programtest.Goldens(t, *update, func(t *testing.T, input string, args ...string) result {
		t.Helper()
		return run(t, &fake{adapters: programtest.Adapters()}, input, args...)
	}, "hostname.txtar", "ipconfig.txtar", "netsh.txtar", "route.txtar")
}

// TestSystemFails checks what the programs do when Windows does not answer.
func TestSystemFails(t *testing.T) {
	for _, line := range []string{
		"netsh interface ip show config", "netsh int ipv4 set int eth0 for=en", "netsh http show urlacl", "netsh http add urlacl url=http://+:80/ user=x", "route print",
	} {
		if got := run(t, &fake{err: errors.New("no answer")}, "", strings.Fields(line)...); got.Code == 0 || got.Err == "" {
			t.Errorf("%s: %+v", line, got)
		}
	}
}
