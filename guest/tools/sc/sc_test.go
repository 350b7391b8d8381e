package sc_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/tools/sc"
	"mullion.dev/mullion/internal/windows/wire/services"
	"mullion.dev/mullion/internal/windows/wire/services/servicestest"
)

// session runs commands of sc, a line each, one after another with the same manager, and returns what they print, with
// plain ends of lines, and each one's exit code.
func session(t *testing.T, m *servicestest.Manager, lines ...[]string) (out string, codes []int) {
	t.Helper()
	var all bytes.Buffer
	for _, args := range lines {
		codes = append(codes, sc.Run(&all, m, args))
	}
	if text := all.String(); strings.Count(text, "\n") != strings.Count(text, "\r\n") {
		t.Errorf("%q has lines that do not end as Windows' do", text)
	}
	return strings.ReplaceAll(all.String(), "\r\n", "\n"), codes
}

const (
	noService = "\n\nThe specified service does not exist as an installed service.\n\n"
	running   = "        STATE              : 4  RUNNING \n" +
		"                                (STOPPABLE, NOT_PAUSABLE, ACCEPTS_SHUTDOWN)\n"
	rest = "        WIN32_EXIT_CODE    : 0  (0x0)\n        SERVICE_EXIT_CODE  : 0  (0x0)\n" +
		"        CHECKPOINT         : 0x0\n        WAIT_HINT          : 0x0\n"
	own   = "        TYPE               : 10  WIN32_OWN_PROCESS  \n"
	never = "        STATE              : 1  STOPPED \n        WIN32_EXIT_CODE    : 1077  (0x435)\n" +
		"        SERVICE_EXIT_CODE  : 0  (0x0)\n        CHECKPOINT         : 0x0\n        WAIT_HINT          : 0x0\n"
	process = "        PID                : 7\n        FLAGS              : \n"
)

// TestLife makes a service, starts, stops and deletes it.
func TestLife(t *testing.T) {
	m := &servicestest.Manager{}
	for _, tc := range []struct {
		args []string
		code int
		out  string
	}{
		{[]string{"create", "web", "binPath=", `C:\web.exe --port 80`, "start=auto", "DisplayName=", "Web server"}, 0, "[SC] CreateService SUCCESS\n"},
		{[]string{"create", "WEB", "binPath=x"}, 1073, "[SC] CreateService FAILED 1073:\n\nThe specified service already exists.\n\n"},
		{[]string{"query", "web"}, 0, "\nSERVICE_NAME: web \n" + own + never},
		{[]string{"query"}, 0, ""},
		{[]string{"query", "state=", "all"}, 0, "\nSERVICE_NAME: web \nDISPLAY_NAME: Web server\n" + own + never},
		{[]string{"stop", "web"}, 1062, "[SC] ControlService FAILED 1062:\n\nThe service has not been started.\n\n"},
		{[]string{"start", "web", "a", "b"}, 0, "\nSERVICE_NAME: web \n" + own + running + rest + process},
		{[]string{"start", "web"}, 1056, "[SC] StartService FAILED 1056:\n\nAn instance of the service is already running.\n\n"},
		{[]string{"queryex", "web"}, 0, "\nSERVICE_NAME: web \n" + own + running + rest + process},
		{[]string{"query", "type=", "service", "state=", "inactive", "bufsize=", "9"}, 0, ""},
		{[]string{"queryex"}, 0, "\nSERVICE_NAME: web \nDISPLAY_NAME: Web server\n" + own + running + rest + process},
		{[]string{"interrogate", "web"}, 0, "\nSERVICE_NAME: web \n" + own + running + rest},
		{[]string{"control", "web", "200"}, 0, "\nSERVICE_NAME: web \n" + own + running + rest},
		{[]string{"stop", "web"}, 0, "\nSERVICE_NAME: web \n" + own + "        STATE              : 1  STOPPED \n" + rest},
		{[]string{"delete", "web"}, 0, "[SC] DeleteService SUCCESS\n"},
		{[]string{"query", "web"}, 1060, "[SC] EnumQueryServicesStatus:OpenService FAILED 1060:" + noService},
		{[]string{"start", "web"}, 1060, "[SC] StartService: OpenService FAILED 1060:" + noService},
		{[]string{"stop", "web"}, 1060, "[SC] OpenService FAILED 1060:" + noService},
		{[]string{"delete", "web"}, 1060, "[SC] OpenService FAILED 1060:" + noService},
	} {
		web := m.Find("web")
		out, codes := session(t, m, tc.args)
		if diff := cmp.Diff(tc.out, out); diff != "" || codes[0] != tc.code {
			t.Errorf("%q: code %d, want %d\n%s", tc.args, codes[0], tc.code, diff)
		}
		if tc.args[0] == "start" && tc.code == 0 && !cmp.Equal(web.Args, []string{"a", "b"}) {
			t.Errorf("the service was started with %q", web.Args)
		}

		if tc.args[0] == "stop" && tc.code == 0 && !cmp.Equal(web.Controls, []uint32{4, 200, 1}) {
			t.Errorf("the service got the controls %v", web.Controls)
		}
	}
}

// TestConfig changes and shows all settings.
func TestConfig(t *testing.T) {
	m := &servicestest.Manager{}
	const changed, changed2, asked2 = "[SC] ChangeServiceConfig SUCCESS\n", "[SC] ChangeServiceConfig2 SUCCESS\n",
		"[SC] QueryServiceConfig2 SUCCESS\n\nSERVICE_NAME: web\n"
	const asked = "[SC] QueryServiceConfig SUCCESS\n\nSERVICE_NAME: web\n"
	for _, tc := range []struct {
		args []string
		out  string
	}{
		{[]string{"create", "web", "type=", "share", "type=", "interact", "start=", "delayed-auto", "binPath=", "x", "depend=", "a/+b"}, "[SC] CreateService SUCCESS\n"},
		{[]string{"qc", "web"}, asked + "        TYPE               : 120  WIN32_SHARE_PROCESS (interactive) \n        START_TYPE         : 2   AUTO_START  (DELAYED)\n" +
			"        ERROR_CONTROL      : 1   NORMAL\n        BINARY_PATH_NAME   : x\n        LOAD_ORDER_GROUP   : \n        TAG                : 0\n" +
			"        DISPLAY_NAME       : web\n        DEPENDENCIES       : a\n                           : +b\n        SERVICE_START_NAME : LocalSystem\n"},
		{[]string{"config", "web", "start=", "auto", "type=own", "error=", "severe", "binPath=", "y", "group=", "g", "depend=", "/", "obj=", `NT AUTHORITY\NetworkService`, "displayname=", "W"}, changed},
		{[]string{"qc", "web"}, asked + "        TYPE               : 10  WIN32_OWN_PROCESS \n        START_TYPE         : 2   AUTO_START\n" +
			"        ERROR_CONTROL      : 2   SEVERE\n        BINARY_PATH_NAME   : y\n        LOAD_ORDER_GROUP   : g\n        TAG                : 0\n" +
			"        DISPLAY_NAME       : W\n        DEPENDENCIES       : \n        SERVICE_START_NAME : NT AUTHORITY\\NetworkService\n"},
		{[]string{"description", "web", "it serves"}, changed2},
		{[]string{"qdescription", "web"}, asked2 + "DESCRIPTION:  it serves\n"},
		{[]string{"qfailure", "web"}, asked2 + "        RESET_PERIOD (in seconds)    : 0\n        REBOOT_MESSAGE               : \n        COMMAND_LINE                 : \n"},
		{[]string{"failure", "web", "reset=", "60", "actions=", "restart/5000/run/1/none/0", "command=", "c.exe"}, changed2},
		{[]string{"qfailure", "web"}, asked2 + "        RESET_PERIOD (in seconds)    : 60\n        REBOOT_MESSAGE               : \n        COMMAND_LINE                 : c.exe\n" +
			"        FAILURE_ACTIONS              : RESTART -- Delay = 5000 milliseconds.\n                                       RUN PROCESS -- Delay = 1 milliseconds.\n" +
			"                                       NONE -- Delay = 0 milliseconds.\n"},
		{[]string{"failure", "web", "reset=", "INFINITE", "actions=", ""}, changed2},
		{[]string{"qfailure", "web"}, asked2 + "        RESET_PERIOD (in seconds)    : INFINITE\n        REBOOT_MESSAGE               : \n        COMMAND_LINE                 : c.exe\n"},
		{[]string{"qfailureflag", "web"}, asked2 + "        FAILURE_ACTIONS_ON_NONCRASH_FAILURES: FALSE\n"},
		{[]string{"failureflag", "web", "1"}, changed2},
		{[]string{"qfailureflag", "web"}, asked2 + "        FAILURE_ACTIONS_ON_NONCRASH_FAILURES: TRUE\n"},
		{[]string{"create", "other", "binPath=", "z", "depend=", "web"}, "[SC] CreateService SUCCESS\n"},
		{[]string{"enumdepend", "web"}, "Enum: entriesRead  = 1\n\nSERVICE_NAME: other \nDISPLAY_NAME: other\n" + own + never},
	} {
		out, codes := session(t, m, tc.args)
		if diff := cmp.Diff(tc.out, out); diff != "" || codes[0] != 0 {
			t.Errorf("%q: code %d\n%s", tc.args, codes[0], diff)
		}
	}
}

func TestRefused(t *testing.T) {
	m := &servicestest.Manager{}
	session(t, m, []string{"create", "web", "binPath=", "x"})
	for _, tc := range []struct {
		args []string
		code int
		out  string
	}{
		{nil, 1639, "DESCRIPTION:"},
		{[]string{"fly"}, 1639, "*** Unrecognized Command ***\n"},
		{[]string{"start"}, 1639, "USAGE:\n        sc <server> start [service name]"},
		{[]string{"create", "x"}, 1639, "USAGE:\n        sc <server> create"},
		{[]string{"create", "x", "binPath="}, 1639, "USAGE:\n"},
		{[]string{"create", "x", "binPath=", "y", "start=", "soon"}, 1639, "ERROR:  Invalid start= field\n"},
		{[]string{"create", "x", "binPath=", "y", "type=", "thing"}, 1639, "ERROR:  Invalid type= field\n"},
		{[]string{"create", "x", "binPath=", "y", "colour=", "red"}, 1639, "USAGE:\n"},
		{[]string{"create", "x", "binPath=", "y", "obj=", `.\bob`}, 1057, "[SC] CreateService FAILED 1057:\n"},
		{[]string{"create", `a\b`, "binPath=", "y"}, 123, "[SC] CreateService FAILED 123:\n"},
		{[]string{"create", "x", "binPath=", "y", "tag=", "yes"}, 50, "[SC] sc tag= FAILED 50:\n"},
		{[]string{"config", "web"}, 1639, "USAGE:\n"},
		{[]string{"config", "web", "type=", "interact"}, 1639, "ERROR:  Invalid type= field\n"},
		{[]string{"config", "web", "obj=", "bob"}, 1057, "[SC] ChangeServiceConfig FAILED 1057:\n"},
		{[]string{"failure", "web"}, 1639, "USAGE:\n"},
		{[]string{"failure", "web", "reset=", "1"}, 1639, "ERROR:  The reset and actions options must be set simultaneously.\n"},
		{[]string{"failure", "web", "reset=", "1", "actions=", "dance/1"}, 1639, "ERROR:  Invalid actions= field\n"},
		{[]string{"failureflag", "web", "2"}, 1639, "USAGE:\n"},
		{[]string{"control", "web", "5"}, 87, "[SC] ControlService FAILED 87:\n"},
		{[]string{"query", "type=", "odd"}, 1639, "ERROR:  Invalid type= field\n"},
		{[]string{"query", "group=", "none"}, 1060, "[SC] EnumQueryServicesStatus FAILED 1060:" + noService},
		{[]string{"sdshow", "web"}, 50, "[SC] sc sdshow FAILED 50:\n\nThe request is not supported.\n\n"},
		{[]string{`\\remote`, "query"}, 1722, "[SC] OpenSCManager FAILED 1722:\n"},
	} {
		out, codes := session(t, m, tc.args)
		if codes[0] != tc.code || !strings.HasPrefix(out, tc.out) {
			t.Errorf("%q: code %d, %q, want %d, %q", tc.args, codes[0], out, tc.code, tc.out)
		}
	}

	if len(m.Services) != 1 {
		t.Errorf("%d services were made, want 1", len(m.Services))
	}
	m.Err = services.AccessDenied
	if out, codes := session(t, m, []string{"delete", "web"}); codes[0] != 5 || !strings.HasPrefix(out, "[SC] OpenService FAILED 5:\n\nAccess is denied.\n") {
		t.Errorf("%d, %q", codes[0], out)
	}
}
