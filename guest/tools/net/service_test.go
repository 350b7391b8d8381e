package net

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/windows/wire/services"
	"mullion.dev/mullion/internal/windows/wire/services/servicestest"
	"mullion.dev/mullion/internal/windows/wire/winerr"
)

// netServices returns a service, one that needs it, and some that do not start.
func netServices(t *testing.T) *fake {
	t.Helper()
	w := &fake{}
	for _, s := range []struct {
		name, display string
		start         uint32
		needs         []string
	}{
		{"web", "Web server", services.StartDemand, nil},
		{"cache", "a cache", services.StartDemand, []string{"web"}},
		{"off", "Off", services.StartDisabled, nil},
		{"crash", "Crash", services.StartDemand, nil},
		{"own", "Own", services.StartDemand, nil},
		{"quiet", "Quiet", services.StartDemand, nil},
	} {
		err := w.services.Create(s.name, services.Change{
			Type:         services.OwnProcess,
			Start:        s.start,
			ErrorControl: services.ErrorNormal,
			Display:      &s.display,
			Needs:        s.needs,
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	ends := func(name string, exit winerr.Code, own uint32) {
		w.services.Find(name).Ends = &services.Status{
			State:       services.Stopped,
			Exit:        uint32(exit),
			ServiceExit: own,
		}
	}
	ends("crash", services.ProcessAborted, 0)
	ends("own", services.SpecificError, 3)
	ends("quiet", 0, 0)

	return w
}

func TestNetServices(t *testing.T) {
	w := netServices(t)
	const help = "\n\nMore help is available by typing NET HELPMSG "
	const asked = "The following services are dependent on the Web server service.\n" +
		"Stopping the Web server service will also stop these services.\n\n   a cache\n\n"
	const question = "Do you want to continue this operation? (Y/N) [N]: \n"
	const stopped = "The a cache service is stopping.\nThe a cache service was stopped successfully.\n\n" +
		"The Web server service is stopping.\nThe Web server service was stopped successfully.\n\n"
	const startedWeb = "The Web server service is starting.\nThe Web server service was started successfully.\n\n"
	for _, tc := range []struct {
		input string
		args  []string
		want  result
	}{
		{"", []string{"start", "none"}, result{Code: 2, Err: "The service name is invalid." + help + "2185.\n\n"}},
		{"", []string{"stop", "web"}, result{Code: 2, Err: "The Web server service is not started." + help + "3521.\n\n"}},
		{"", []string{"START", "web server"}, result{Out: startedWeb}},
		{"", []string{"start", "Web"}, result{Code: 2, Err: "The requested service has already been started." + help + "2182.\n\n"}},
		{"", []string{"start", "cache"}, result{Out: "The a cache service is starting.\nThe a cache service was started successfully.\n\n"}},
		{"", []string{"start"}, result{Out: "These Windows services are started:\n\n   a cache\n   Web server\n\nThe command completed successfully.\n\n"}},
		{"n\n", []string{"stop", "web"}, result{Code: 2, Out: asked + question}},
		{"", []string{"stop", "web"}, result{Code: 2, Out: asked + question}},
		{"y\n", []string{"stop", "web"}, result{Out: asked + question + stopped}},
		{"", []string{"start", "off"}, result{Code: 2, Err: "System error 1058 has occurred.\n\nThe service cannot be started, either because it is disabled or because it has no enabled devices associated with it.\n\n"}},
		{"", []string{"start", "crash"}, result{
			Code: 2,
			Out:  "The Crash service is starting.\n",
			Err:  "The Crash service could not be started.\n\nA system error has occurred.\n\nSystem error 1067 has occurred.\n\nThe process terminated unexpectedly.\n\n",
		}},
		{"", []string{"start", "own"}, result{
			Code: 2,
			Out:  "The Own service is starting.\n",
			Err:  "The Own service could not be started.\n\nA service specific error occurred: 3." + help + "3547.\n\n",
		}},
		{"", []string{"start", "quiet"}, result{
			Code: 2,
			Out:  "The Quiet service is starting.\n",
			Err:  "The Quiet service could not be started.\n\nThe service did not report an error." + help + "3534.\n\n",
		}},
		{"", []string{"start", "a", "b"}, result{Code: 1, Err: "The syntax of this command is:\n\nNET START\n[service]\n\n"}},
		{"", []string{"stop"}, result{Code: 1, Err: "The syntax of this command is:\n\nNET STOP\nservice\n\n"}},
		{"", []string{"stop", "/?"}, result{Err: "The syntax of this command is:\n\nNET STOP\nservice\n\n"}},
	} {
		got := run(t, w, tc.input, append([]string{"net"}, tc.args...)...)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("net %q: %s", tc.args, diff)
		}
	}

	run(t, w, "", "net", "start", "web")
	run(t, w, "", "net", "start", "cache")
	if got := run(t, w, "", "net", "stop", "web", "/y"); got.Code != 0 || got.Out != asked+stopped {
		t.Errorf("%+v", got)
	}

	w.services = servicestest.Manager{Err: services.AccessDenied}
	if got := run(t, w, "", "net", "start"); got.Code != 2 ||
		got.Err != "System error 5 has occurred.\n\nAccess is denied.\n\n" {
		t.Errorf("%+v", got)
	}
}
