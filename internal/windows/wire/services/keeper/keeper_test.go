package keeper_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mullion.dev/mullion/internal/windows/wire/services"
	"mullion.dev/mullion/internal/windows/wire/services/keeper"
	"mullion.dev/mullion/internal/windows/wire/services/servicestest"
)

// system notes where services write.
type system map[string]string

func (s system) Output(service, file string) error {
	s[service] = file
	return nil
}

func (s system) Environ(service string, variables []string) error {
	s[service+" environment"] = strings.Join(variables, " ")
	return nil
}

func (system) Watch(context.Context) error { return nil }

func (system) Line(args []string) string { return strings.Join(args, " ") }

// Ended knows of no process, so that the manager is asked at each look.
func (system) Ended(uint32) (<-chan struct{}, error) { return nil, services.NotActive }

func options(t *testing.T) keeper.Options {
	t.Helper()
	dir := t.TempDir()
	return keeper.Options{
		Name: "kubelet", Description: "the node's agent", Log: filepath.Join(dir, "log", "kubelet.log"),
		State: filepath.Join(dir, "state", "kubelet"), Command: []string{`C:\k\kubelet.exe`, "--windows-service"},
	}
}

func TestParse(t *testing.T) {
	want := options(t)
	for _, want.Environment = range []string{"", `C:\a file`} {
		got, err := keeper.Parse(want.Args())
		if err != nil || got.Name != want.Name || got.State != want.State || got.Environment != want.Environment ||
			!slices.Equal(got.Command, want.Command) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	for _, args := range [][]string{{}, {"--name", "x"}, {"--what", "x"}, {"--name", "x", "--log", "l", "--state", "s", "--"}} {
		if _, err := keeper.Parse(args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

// A service that is not there is made, one that is there gets today's command line; both are started again when they
// fail.
func TestRunMakesTheService(t *testing.T) {
	for name, there := range map[string][]*servicestest.Service{
		"new": nil,
		"known": {{
			Service: services.Service{Name: "kubelet", Status: services.Status{State: services.Running, Type: services.OwnProcess}},
			Config:  services.Config{Binary: `C:\k\kubelet.exe --v=9`},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &servicestest.Manager{Services: there}
			s := system{}
			o := options(t)
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // it looks once
			var out bytes.Buffer
			if err := keeper.Run(ctx, m, s, o, &out); err != nil {
				t.Fatal(err)
			}

			made := m.Find("kubelet")
			if made == nil || made.Config.Binary != `C:\k\kubelet.exe --windows-service` ||
				made.Status.State != services.Running || s["kubelet"] != o.Log {
				t.Fatalf("%+v, its output %v", made, s)
			}
			if a := made.Failure.Actions; len(a) != 1 || a[0].Type != services.ActionRestart {
				t.Errorf("failure actions %v", a)
			}

			if stopped := slices.Contains(made.Controls, services.ControlStop); stopped != (there != nil) {
				t.Errorf("it was told %v", made.Controls)
			}
			if text, err := os.ReadFile(o.State); err != nil || keeper.ReadState(text) {
				t.Errorf("its state is %q, %v", text, err)
			}
		})
	}
}

// A service that does not answer in time is started again, and not for ever.
func TestRunStartsALateService(t *testing.T) {
	for late, says := range map[int]string{0: "", 2: "", 3: "start service kubelet: The service did not respond"} {
		m, o := &servicestest.Manager{Services: []*servicestest.Service{{
			Service: services.Service{Name: "kubelet", Status: services.Status{State: services.Stopped}},
			Late:    late,
		}}}, options(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := keeper.Run(ctx, m, system{}, o, &bytes.Buffer{})
		if (says == "" && err != nil) || (says != "" && (err == nil || !strings.Contains(err.Error(), says))) {
			t.Errorf("late %d times: %v, want %q", late, err, says)
		}
	}
}

// A service that somebody stops is told of, and the keeper goes on; one that fails soon after its start ends it.
func TestRunTellsOfTheEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		exit   uint32
		halted bool
		says   string
	}{
		"by-hand": {0, true, ""},
		"failed":  {1067, false, "service kubelet ended soon after its start, with code 1067"},
	} {
		t.Run(name, func(t *testing.T) {
			m, o := &servicestest.Manager{Services: []*servicestest.Service{{
				Service: services.Service{Name: "kubelet", Status: services.Status{State: services.Stopped}},
				Ends:    &services.Status{State: services.Stopped, Exit: tt.exit},
			}}}, options(t)

			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			var out bytes.Buffer
			err := keeper.Run(ctx, m, system{}, o, &out)
			if (tt.says == "" && err != nil) || (tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says))) {
				t.Errorf("%v, want %q", err, tt.says)
			}

			text, readErr := os.ReadFile(o.State)
			if readErr != nil || keeper.ReadState(text) != tt.halted {
				t.Errorf("its state is %q, %v", text, readErr)
			}
		})
	}
}

// A service of a busy machine takes its time until it fails: it has not worked all the same.
func TestRunTellsOfALateFailure(t *testing.T) {
	starting := func(pid uint32) services.Status { return services.Status{State: services.StartPending, PID: pid} }
	for name, then := range map[string][]services.Status{
		"stopped":       {{State: services.Stopped, Exit: 5}},
		"started again": {starting(9)},
		"started again, and seen in the meantime": {starting(0), starting(9)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := starting(8)
				service := &servicestest.Service{
					Service: services.Service{Name: "kubelet", Status: services.Status{State: services.Stopped}},
					Ends:    &is,
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				o, ended := options(t), make(chan error)
				go func() {
					m := &servicestest.Manager{Services: []*servicestest.Service{service}}
					ended <- keeper.Run(ctx, m, system{}, o, io.Discard)
				}()

				time.Sleep(20 * time.Second)
				synctest.Wait()
				for _, service.Status = range then {
					time.Sleep(time.Second)
					synctest.Wait()
				}
				if err := <-ended; err == nil || !strings.Contains(err.Error(), "ended soon after its start") {
					t.Errorf("it says %v", err)
				}
			})
		})
	}
}

// A service that ends twice between two looks is told of by its second end: a person's stop after a failure is one.
func TestRunTellsOfAStopSoonAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &servicestest.Service{Service: services.Service{
			Name: "kubelet", Status: services.Status{State: services.Stopped},
		}}

		o := options(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			m := &servicestest.Manager{Services: []*servicestest.Service{service}}
			ended <- keeper.Run(ctx, m, system{}, o, io.Discard)
		}()

		for _, exit := range []uint32{1067, 0} {
			time.Sleep(5 * time.Second)
			synctest.Wait()
			service.Status = services.Status{State: services.Stopped, Exit: exit}
		}

		time.Sleep(5 * time.Second)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}

		if text, err := os.ReadFile(o.State); err != nil || !keeper.ReadState(text) {
			t.Errorf("its state is %q, %v", text, err)
		}
	})
}

// counting counts how often the states of services are asked for.
type counting struct {
	services.Manager
	asked *int
}

func (c counting) Open(name string, rights uint32) (services.Handle, error) {
	h, err := c.Manager.Open(name, rights)
	return countingHandle{h, c.asked}, err
}

type countingHandle struct {
	services.Handle
	asked *int
}

func (h countingHandle) Status() (services.Status, error) {
	*h.asked++
	return h.Handle.Status()
}

// processes is a system that knows when processes end.
type processes struct {
	system
	ended map[uint32]chan struct{}
}

func (p processes) Ended(pid uint32) (<-chan struct{}, error) {
	p.ended[pid] = make(chan struct{})
	return p.ended[pid], nil
}

// The manager is not asked again and again for a service whose process is there, and at once when that has ended.
func TestRunAsksSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &servicestest.Service{Service: services.Service{
			Name: "kubelet", Status: services.Status{State: services.Stopped},
		}}

		o, asked := options(t), 0
		known := processes{system{}, map[uint32]chan struct{}{}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			m := counting{&servicestest.Manager{Services: []*servicestest.Service{service}}, &asked}
			ended <- keeper.Run(ctx, m, known, o, io.Discard)
		}()

		state := func() string {
			t.Helper()
			text, err := os.ReadFile(o.State)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}

		time.Sleep(time.Second)
		synctest.Wait()
		service.Status = services.Status{State: services.Running, PID: 8}
		time.Sleep(time.Second)
		synctest.Wait()
		asked = 0
		time.Sleep(time.Minute)
		synctest.Wait()
		if asked < 2 || asked > 10 {
			t.Errorf("asked %d times in a minute, want every ten seconds", asked)
		}

		service.Status = services.Status{State: services.Running, PID: 12} // it failed, and was started again
		close(known.ended[8])
		time.Sleep(time.Second)
		synctest.Wait()
		if known.ended[12] == nil || state() != "" {
			t.Errorf("its second process is not watched, its state is %q", state())
		}

		service.Status = services.Status{State: services.Stopped}
		close(known.ended[12])
		time.Sleep(time.Second)
		synctest.Wait()
		if state() != keeper.Stopped {
			t.Errorf("its state is %q a second after it was stopped", state())
		}

		before := asked
		service.Status = services.Status{State: services.Running, PID: 16} // a person starts it
		time.Sleep(time.Second)
		synctest.Wait()
		if asked == before || known.ended[16] == nil || state() != "" {
			t.Errorf("it is not seen that it runs again; its state is %q", state())
		}

		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A service has the variables of its file, and none of those that it had when the file is empty; it does not start
// without the file that it is to have them from.
func TestEnvironment(t *testing.T) {
	for text, want := range map[string]string{"A=1\nB=http://user:pass@proxy:1\n": "A=1 B=http://user:pass@proxy:1", "": ""} {
		o, told := options(t), system{}
		o.Environment = filepath.Join(t.TempDir(), "environment")
		if err := os.WriteFile(o.Environment, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := keeper.Run(ctx, &servicestest.Manager{}, told, o, io.Discard); err != nil {
			t.Fatal(err)
		}
		if got, set := told["kubelet environment"]; got != want || !set {
			t.Errorf("the service has %q, %t; want %q", got, set, want)
		}
	}

	o, told := options(t), system{}
	o.Environment = filepath.Join(t.TempDir(), "absent")
	if err := keeper.Run(t.Context(), &servicestest.Manager{}, told, o, io.Discard); err == nil {
		t.Error("it starts without its environment")
	}
}
