//go:build wine

package winrun

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/windows/wire/services/keeper"
)

// line runs a command line of cmd.exe.
func (p prefix) line(t *testing.T, line string) outcome {
	t.Helper()
	return p.run(t, "--raw", "--", "cmd /c "+line)
}

// log returns what the test's service wrote to a file of C:.
func (p prefix) log(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(p.Path(name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// until runs a command line until what it prints has a text.
func (p prefix) until(t *testing.T, line, want string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		got := p.line(t, line)
		if strings.Contains(got.out, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s: %+v, want %q", line, got, want)
			return
		}
	}
}

// serviceState is what sc prints of a service that runs.
const serviceState = "\nSERVICE_NAME: tried \n        TYPE               : 10  WIN32_OWN_PROCESS  \n" +
	"        STATE              : 4  RUNNING \n                                (STOPPABLE, NOT_PAUSABLE, IGNORES_SHUTDOWN)\n" +
	"        WIN32_EXIT_CODE    : 0  (0x0)\n        SERVICE_EXIT_CODE  : 0  (0x0)\n        CHECKPOINT         : 0x0\n        WAIT_HINT          : 0x0\n"

// testServiceControl makes a service by sc.exe, and starts, asks, stops and deletes it.
func testServiceControl(t *testing.T, p prefix) {
	t.Helper()
	p.fresh(t)
	const none = "FAILED 1060:\n\nThe specified service does not exist as an installed service.\n\n"
	for _, tc := range []struct {
		name, line string
		code       int
		out        string
	}{
		{"none", `sc query tried`, 1060 & 0xff, "[SC] EnumQueryServicesStatus:OpenService " + none},
		{"create", `sc create tried binPath= "C:\prog.exe service tried C:\tried.log s" DisplayName= "A trial" depend= PlugPlay`, 0, "[SC] CreateService SUCCESS\n"},
		{"create_again", `sc create tried binPath=x`, 1073 & 0xff, "[SC] CreateService FAILED 1073:\n\nThe specified service already exists.\n\n"},
		{"stop_first", `sc stop tried`, 1062 & 0xff, "[SC] ControlService FAILED 1062:\n\nThe service has not been started.\n\n"},
		{"description", `sc description tried "it is tried"`, 0, "[SC] ChangeServiceConfig2 SUCCESS\n"},
		{"qdescription", `sc qdescription tried`, 0, "[SC] QueryServiceConfig2 SUCCESS\n\nSERVICE_NAME: tried\nDESCRIPTION:  it is tried\n"},
		{"start", `sc start tried one "two three" >nul`, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := p.line(t, tc.line); got.code != tc.code || got.out != tc.out {
				t.Errorf("%+v, want %+v", got, tc)
			}
		})
	}

	p.until(t, "sc query tried", "RUNNING")
	if got := p.line(t, "sc query tried"); got.out != serviceState {
		t.Errorf("%+v, want %q", got, serviceState)
	}
	if got := p.line(t, "sc queryex tried"); !regexp.MustCompile(`\n        PID                : [1-9][0-9]*\n        FLAGS              : \n$`).MatchString(got.out) {
		t.Errorf("%+v has no process", got)
	}

	if got := p.line(t, "sc control tried 200"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	if got := p.line(t, "sc start tried"); got.code != 1056&0xff || got.out != "[SC] StartService FAILED 1056:\n\nAn instance of the service is already running.\n\n" {
		t.Errorf("%+v", got)
	}
	if got := p.line(t, "sc stop tried >nul"); got.code != 0 {
		t.Errorf("%+v", got)
	}

	p.until(t, "sc query tried", "1  STOPPED")
	const want = "started [\"tried\" \"one\" \"two three\"] color \"\"\ncontrol 200\nstop\nended\n"
	if got := p.log(t, "tried.log"); got != want {
		t.Errorf("the service wrote %q, want %q", got, want)
	}

	const started = "The A trial service is starting.\nThe A trial service was started successfully.\n\n"
	const stopped = "The A trial service is stopping.\nThe A trial service was stopped successfully.\n\n"
	if got := p.line(t, `net start "A trial" && net start | findstr /c:"A trial" && net stop tried`); got.code != 0 ||
		got.out != started+"   A trial\n"+stopped {
		t.Errorf("%+v", got)
	}

	if got := p.line(t, "sc delete tried && sc query tried"); got.code != 1060&0xff ||
		got.out != "[SC] DeleteService SUCCESS\n[SC] EnumQueryServicesStatus:OpenService "+none {
		t.Errorf("%+v", got)
	}
}

// made makes a service of the test's program, which logs to C:\NAME.log, and starts it.
func (p prefix) made(t *testing.T, name, accepts string) {
	t.Helper()
	line := `sc create NAME binPath= "C:\prog.exe service NAME C:\NAME.log ` + accepts + `" && sc start NAME`
	if got := p.line(t, strings.ReplaceAll(line, "NAME", name)); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	p.until(t, "sc query "+name, "RUNNING")
}

// testServiceKnown has a service find out that it is one as libraries do. Go's says no, as in Windows' own containers,
// where services are not in session 0 (https://github.com/golang/go/issues/56335). It answers later than Wine would
// wait.
func testServiceKnown(t *testing.T, p prefix) {
	t.Helper()
	p.fresh(t)
	p.made(t, "known", "swl")
	const want = "started [\"known\"] color \"\"\nGo's answer false, child of services.exe\n"
	if got := p.log(t, "known.log"); got != want {
		t.Errorf("the service wrote %q, want %q", got, want)
	}
}

// testServiceHost: on a host services are in session 0, and those that services.exe had started before it got the hooks
// are watched too.
func testServiceHost(t *testing.T, p prefix) {
	t.Helper()
	const token = "ProgramData/Mullion/hns.token"
	p.Write(t, token, "secret")
	t.Cleanup(func() {
		if err := os.Remove(p.Path(token)); err != nil {
			t.Error(err)
		}
	})
	p.fresh(t)
	p.made(t, "hosted", "sw")
	const want = "started [\"hosted\"] color \"\"\nGo's answer true, child of services.exe\n"
	if got := p.log(t, "hosted.log"); got != want {
		t.Errorf("the service wrote %q, want %q", got, want)
	}

	p.made(t, "hasty", "sx") // may end before it has answered
	for i := range 3 {
		if i > 0 {
			p.line(t, "sc start hasty")
			p.until(t, "sc query hasty", "RUNNING")
		}
		if got := p.line(t, "sc stop hasty >nul"); got.code != 0 {
			t.Errorf("%+v", got)
		}
		p.until(t, "sc query hasty", "1  STOPPED")
	}

	const sessions = `tasklist /fo csv /nh | findstr /i "prog.exe tasklist.exe"`
	if got := p.line(t, sessions).out; !regexp.MustCompile(
		`(?s)"prog.exe","\d+","Services","0".*"tasklist.exe","\d+","[^"]*","1"`).MatchString(got) {
		t.Errorf("sessions: %s", got)
	}
	const create = `sc create woken start= auto binPath= "C:\prog.exe service woken C:\woken.log s"`
	if got := p.line(t, create); got.code != 0 {
		t.Fatalf("%+v", got)
	}

	p.Stop()
	first := p.command(t, "--", "prog", "sleep")
	for i := range first.Env { // as on a host, where Wine's own wineboot.exe starts services.exe
		first.Env[i] = strings.Replace(first.Env[i], "wineboot.exe,", "", 1)
	}

	r := startReady(t, first)
	t.Cleanup(func() {
		r.stop()
		p.Stop()
	})
	if got := p.run(t, "--services"); got.code != 0 {
		t.Errorf("%+v", got)
	}

	p.until(t, "sc query woken", "4  RUNNING")
	p.line(t, "taskkill /f /im prog.exe")
	p.until(t, "sc query woken", "1  STOPPED")
	if got := p.line(t, "sc query woken && sc delete woken"); !strings.Contains(got.out, "1067") {
		t.Errorf("%+v", got)
	}
}

// testServiceEnd ends a container whose services run: those that accept it are told before, and have their time.
func testServiceEnd(t *testing.T, p prefix) {
	t.Helper()
	p.Stop()
	t.Cleanup(p.Stop)
	report := filepath.Join(t.TempDir(), "report") // by it the first process knows whom to tell
	inner := p.command(t, "--report", report, "--", "prog", "signal")
	cmd := exec.CommandContext(t.Context(), buildInit(t), append([]string{"--"}, inner.Args...)...)
	cmd.Env, cmd.Dir = inner.Env, inner.Dir
	r := startReady(t, cmd)
	for name, accepts := range map[string]string{"slow": "shd", "early": "hp", "plain": "s", "stuck": "shn"} {
		p.made(t, name, accepts)
	}

	begin := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if line := r.next(); line != "got terminated" {
		t.Errorf("the program said %q", line)
	}
	code := exitCode(t, cmd.Wait())
	// slow takes 4 s, stuck has the 5 s of WaitToKillServiceTimeout
	if took := time.Since(begin); code != 42 || took < 5*time.Second || took > 20*time.Second {
		t.Errorf("the container ended with %d after %v, want 42 after 5 s", code, took)
	}

	for name, want := range map[string]string{
		"slow": "shutdown\nended\n", "early": "preshutdown\nended\n", "plain": "", "stuck": "shutdown\n",
	} {
		want = fmt.Sprintf("started [%q] color \"\"\n%s", name, want)
		if got := p.log(t, name+".log"); got != want {
			t.Errorf("%s wrote %q, want %q", name, got, want)
		}
	}

	p.Stop()
	p.fresh(t)
	for _, name := range []string{"slow", "early", "plain", "stuck"} {
		if got := p.line(t, "sc delete "+name); got.code != 0 {
			t.Errorf("%+v", got)
		}
	}
}

// testServiceSettings sets and asks for what Wine's service control manager does not keep.
func testServiceSettings(t *testing.T, p prefix) {
	t.Helper()
	p.fresh(t)
	const changed, changed2, asked2 = "[SC] ChangeServiceConfig SUCCESS\n", "[SC] ChangeServiceConfig2 SUCCESS\n",
		"[SC] QueryServiceConfig2 SUCCESS\n\nSERVICE_NAME: upper\n"
	for _, tc := range []struct {
		line string
		code int
		out  string
	}{
		{`sc create lower binPath= "C:\prog.exe service lower C:\lower.log s"`, 0, "[SC] CreateService SUCCESS\n"},
		{`sc create upper binPath= "C:\prog.exe service upper C:\upper.log s" depend= lower/+Base start= delayed-auto`, 0, "[SC] CreateService SUCCESS\n"},
		{`sc config upper DisplayName= "The upper one"`, 0, changed},
		{`sc qc upper`, 0, "[SC] QueryServiceConfig SUCCESS\n\nSERVICE_NAME: upper\n        TYPE               : 10  WIN32_OWN_PROCESS \n" +
			"        START_TYPE         : 2   AUTO_START  (DELAYED)\n        ERROR_CONTROL      : 1   NORMAL\n" +
			"        BINARY_PATH_NAME   : C:\\prog.exe service upper C:\\upper.log s\n        LOAD_ORDER_GROUP   : \n        TAG                : 0\n" +
			"        DISPLAY_NAME       : The upper one\n        DEPENDENCIES       : lower\n                           : +Base\n        SERVICE_START_NAME : LocalSystem\n"},
		{`sc qfailure upper`, 0, asked2 + "        RESET_PERIOD (in seconds)    : 0\n        REBOOT_MESSAGE               : \n        COMMAND_LINE                 : \n"},
		{`sc failure upper reset= 60 actions= restart/5/run/7 command= "a.exe /fail=%1%"`, 0, changed2},
		{`sc failure upper reboot= "it goes"`, 0, changed2},
		{`sc qfailure upper`, 0, asked2 + "        RESET_PERIOD (in seconds)    : 60\n        REBOOT_MESSAGE               : it goes\n        COMMAND_LINE                 : a.exe /fail=%1%\n" +
			"        FAILURE_ACTIONS              : RESTART -- Delay = 5 milliseconds.\n                                       RUN PROCESS -- Delay = 7 milliseconds.\n"},
		{`sc failureflag upper 1`, 0, changed2},
		{`sc qfailureflag upper`, 0, asked2 + "        FAILURE_ACTIONS_ON_NONCRASH_FAILURES: TRUE\n"},
		{`sc failure upper reset= 0 actions= ""`, 0, changed2},
		{`sc config upper start= demand`, 0, changed},
		{`sc qc upper | findstr START_TYPE`, 0, "        START_TYPE         : 3   DEMAND_START\n"},
		{`sc qc lower | findstr DISPLAY_NAME`, 0, "        DISPLAY_NAME       : lower\n"},
		{`sc query type= all state= all | findstr /c:": lower"`, 0, "SERVICE_NAME: lower \nDISPLAY_NAME: lower\n"},
		{`sc enumdepend lower | findstr NAME:`, 0, "SERVICE_NAME: upper \nDISPLAY_NAME: The upper one\n"},
		{`sc start upper >nul`, 0, ""},
		{`net start | findstr /c:"   lower"`, 0, "   lower\n"},
		{`sc query lower | findstr RUNNING`, 0, "        STATE              : 4  RUNNING \n"},
		{`sc stop lower`, 1051 & 0xff, "[SC] ControlService FAILED 1051:\n\nA stop control has been sent to a service that other running services are dependent on.\n\n"},
		{`net stop lower /y`, 0, "The following services are dependent on the lower service.\nStopping the lower service will also stop these services.\n\n   The upper one\n\n" +
			"The The upper one service is stopping.\nThe The upper one service was stopped successfully.\n\nThe lower service is stopping.\nThe lower service was stopped successfully.\n\n"},
		{`sc config upper depend= none/lower`, 0, changed},
		{`sc start upper`, 1075 & 0xff, "[SC] StartService FAILED 1075:\n\nThe dependency service does not exist or has been marked for deletion.\n\n"},
		{`sc config upper depend= upper`, 0, changed},
		{`sc start upper`, 1059 & 0xff, "[SC] StartService FAILED 1059:\n\nCircular service dependency was specified.\n\n"},
		{`sc config upper depend= Tcpip/Dnscache/RpcSs`, 0, changed}, // of Windows, and not here
		{`sc start upper >nul && sc stop upper >nul`, 0, ""},
		{`sc config upper depend= /`, 0, changed},
		{`sc enumdepend lower`, 0, "Enum: entriesRead  = 0\n"},
		{`powershell -c "Get-Service upper, lower | ForEach-Object { $_.Status }"`, 0, "Stopped\nStopped\n"},
		{`powershell -c "Remove-Service upper, lower; Get-Service upper"`, 1, ""},
		{`sc query lower`, 1060 & 0xff, "[SC] EnumQueryServicesStatus:OpenService FAILED 1060:\n\nThe specified service does not exist as an installed service.\n\n"},
	} {
		if got := p.line(t, tc.line); got.code != tc.code || got.out != tc.out {
			t.Errorf("%s: %+v, want %d, %q", tc.line, got, tc.code, tc.out)
		}
	}
}

// testServiceAutomatic has a service start with the container, without anybody asking for it, wherever its program
// lies.
func testServiceAutomatic(t *testing.T, p prefix) {
	t.Helper()
	program, err := os.ReadFile(p.Path("prog.exe"))
	if err != nil {
		t.Fatal(err)
	}

	for name, at := range map[string]string{"plain": `C:\prog.exe`, "below_Windows": `C:\windows\system32\auto.exe`} {
		t.Run(name, func(t *testing.T) {
			p.fresh(t)
			p.Write(t, strings.ReplaceAll(strings.TrimPrefix(at, `C:\`), `\`, "/"), string(program))
			line := fmt.Sprintf(`sc create auto start= auto binPath= "%s service auto C:\auto-%s.log s"`, at, name)
			if got := p.line(t, line); got.code != 0 {
				t.Fatalf("%+v", got)
			}

			p.Stop() // the registry is on disk now
			p.fresh(t)
			const want = "started [\"auto\"] color \"\"\n"
			is := func() string { return p.log(t, "auto-"+name+".log") }
			for deadline := time.Now().Add(30 * time.Second); is() != want; time.Sleep(50 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("the service wrote %q, want %q", is(), want)
				}
			}

			if got := p.line(t, "net stop auto && sc delete auto"); got.code != 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// kill ends the process of a service, as a crash does.
func (p prefix) kill(t *testing.T, name string) {
	t.Helper()
	queried := p.line(t, "sc queryex "+name)
	pid := regexp.MustCompile(`PID                : ([1-9][0-9]*)`).FindStringSubmatch(queried.out)
	if pid == nil {
		t.Fatalf("%+v has no process", queried)
	}
	if got := p.line(t, "taskkill /f /pid "+pid[1]); got.code != 0 {
		t.Fatalf("%+v", got)
	}
}

// testServiceFailure has services die, and sees what is done about it.
func testServiceFailure(t *testing.T, p prefix) {
	t.Helper()
	p.fresh(t)
	p.line(t, "wevtutil cl System")
	p.made(t, "weak", "sh")
	p.kill(t, "weak")
	p.until(t, "sc query weak", "1067  (0x42b)") // nothing was asked for
	for _, line := range []string{
		`sc failure weak reset= 3600 actions= restart/1/restart/200/run/1 command= "cmd /c echo failed %1% times>C:\weak.txt"`,
		`reg add HKLM\System\CurrentControlSet\Services\weak /v Environment /t REG_MULTI_SZ /d "SHAPE=round\0color=red"`,
		`sc start weak one`,
	} {
		if got := p.line(t, line); got.code != 0 {
			t.Fatalf("%s: %+v", line, got)
		}
	}

	p.until(t, "sc query weak", "RUNNING")
	// The failure before there was a plan counts too: the next is the second.
	const started = "started [\"weak\"] color \"\"\nstarted [\"weak\" \"one\"] color \"red\"\n"
	const again = "started [\"weak\"] color \"red\"\n"
	p.kill(t, "weak")
	p.until(t, "sc query weak & type C:\\weak.log", "RUNNING")
	deadline := time.Now().Add(20 * time.Second)
	for p.log(t, "weak.log") != started+again && time.Now().Before(deadline) {
		time.Sleep(50 * time.Millisecond)
	}

	if got := p.log(t, "weak.log"); got != started+again {
		t.Errorf("the service wrote %q, want %q", got, started+again)
	}
	p.until(t, "sc query weak", "RUNNING")
	p.kill(t, "weak")
	p.until(t, `type C:\weak.txt`, "failed 3 times")
	p.until(t, "sc query weak", "1067  (0x42b)")

	// One whose process dies before it has said that it runs has failed, too.
	p.line(t, `sc create late binPath= "C:\prog.exe service late C:\late.log D"`)
	if got := p.line(t, `sc start late`); got.code != 0 {
		t.Errorf("%+v", got)
	}
	p.until(t, "sc query late", "START_PENDING")
	p.until(t, "sc query late", "1067  (0x42b)")

	// A service that stops with an exit code has failed only if its flag says so.
	for _, line := range []string{
		`sc create bad binPath= "C:\prog.exe service bad C:\bad.log sf"`,
		`sc failure bad reset= 3600 actions= run/1 command= "cmd /c echo bad>C:\bad.txt"`,
	} {
		if got := p.line(t, line); got.code != 0 {
			t.Fatalf("%s: %+v", line, got)
		}
	}

	p.line(t, "sc start bad")
	p.until(t, "sc query bad", "WIN32_EXIT_CODE    : 3  (0x3)")
	if got := p.log(t, "bad.txt"); got != "" {
		t.Errorf("failure actions were carried out without the flag: %q", got)
	}

	p.line(t, "sc failureflag bad 1 && sc start bad")
	p.until(t, `type C:\bad.txt`, "bad")
	events := p.line(t, `wevtutil qe System "/q:*[System[Provider[@Name='Service Control Manager']]]"`)
	var got []string
	for _, found := range regexp.MustCompile(`<EventID[^>]*>(\d+)<|<Data>([^<]*)<`).FindAllStringSubmatch(events.out, -1) {
		got = append(got, found[1]+found[2])
	}

	const want = "7034 weak 1, 7031 weak 2 200 1 Restart the service, 7031 weak 3 1 3 Run the configured recovery program, " +
		"7034 late 1, 7023 bad %%3, 7023 bad %%3, 7031 bad 1 1 3 Run the configured recovery program"
	if text := strings.Join(got, " "); text != strings.ReplaceAll(want, ",", "") {
		t.Errorf("the System log has %q, want %q", text, want)
	}

	text := p.line(t, `wevtutil qe System /f:text "/q:*[System[Provider[@Name='Service Control Manager']]]"`)
	for _, want := range []string{
		"The weak service terminated unexpectedly.  It has done this 1 time(s).\n",
		"The weak service terminated unexpectedly.  It has done this 2 time(s).  The following corrective action will be taken in " +
			"200 milliseconds: Restart the service.\n",
		"The bad service terminated with the following error: \nThe system cannot find the path specified.\n",
	} {
		if !strings.Contains(text.out, want) {
			t.Errorf("%+v lacks %q", text, want)
		}
	}

	if got := p.line(t, "sc delete weak && sc delete bad"); got.code != 0 {
		t.Errorf("%+v", got)
	}
}

// testServiceMonitor has ServiceMonitor.exe wait for a service, and sees it end with it, and with the container.
func testServiceMonitor(t *testing.T, p prefix) {
	t.Helper()
	p.fresh(t)
	for _, name := range []string{"w3svc", "other"} {
		line := `sc create NAME binPath= "C:\prog.exe service NAME C:\NAME.log s"`
		if got := p.line(t, strings.ReplaceAll(line, "NAME", name)); got.code != 0 {
			t.Fatalf("%+v", got)
		}
	}

	env := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(env, []byte("COLOR=red\x00PATH=C:\\windows\\system32\x00"), 0o644); err != nil {
		t.Fatal(err)
	}

	ended := make(chan outcome, 1)
	go func() { ended <- p.run(t, "--env-file", env, "--", "servicemonitor", "w3svc") }()
	p.until(t, "sc query w3svc", "RUNNING")
	p.kill(t, "w3svc")
	const stopped = "\n Service 'w3svc' has been stopped \n"
	if got := <-ended; got.code != 1067&0xff || got.out != stopped+"\n Service 'w3svc' started \n"+stopped {
		t.Errorf("%+v, want the service's code", got)
	}

	if got := p.log(t, "w3svc.log"); got != "started [\"w3svc\"] color \"red\"\n" {
		t.Errorf("the service wrote %q, want the container's variables", got)
	}
	go func() { ended <- p.run(t, "--env-file", env, "--", "servicemonitor", "other") }()
	p.until(t, "sc query other", "RUNNING")
	if got := p.run(t, "--ctrl", "shutdown"); got.code != 0 {
		t.Errorf("%+v", got)
	}

	if got := <-ended; got.code != 0 || !strings.HasSuffix(got.out, "\nStopping service 'other'\n\n Service 'other' has been stopped \n") {
		t.Errorf("%+v", got)
	}
	if got := p.log(t, "other.log"); got != "started [\"other\"] color \"\"\nstop\nended\n" {
		t.Errorf("the service wrote %q", got)
	}

	p.Stop()
	p.fresh(t)
	if got := p.line(t, "servicemonitor none"); got.code != 0x24 || !strings.Contains(got.out, "error [80070424]") {
		t.Errorf("%+v", got)
	}
	if got := p.line(t, "sc delete w3svc && sc delete other"); got.code != 0 {
		t.Errorf("%+v", got)
	}
}

// testServiceKept keeps a service as a host's kubelet is kept: it is started again when it dies, what it writes is
// passed on, and a person's stop is told and left alone.
func testServiceKept(t *testing.T, p prefix) {
	t.Helper()
	p.fresh(t)
	keep := func(accepts string) *exec.Cmd {
		cmd := p.Command(t.Context(), keeper.Options{
			Name: "kept", Description: "it is kept", Log: `C:\var\log\kept\kept.log`, State: `C:\state\kept`,
			Command: []string{`C:\prog.exe`, "service", "kept", `C:\kept.log`, accepts},
		}.Args()...)
		cmd.Args = append([]string{cmd.Args[0], `C:\windows\system32\mullion-service.exe`}, cmd.Args[1:]...)
		return cmd
	}

	var out syncBuffer
	until := func(what string, is func() bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); !is(); <-time.After(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s is waited for in vain; its log: %s, said %s, %+v", what, p.log(t, "kept.log"), out.String(), p.line(t, "sc query kept & sc qfailure kept"))
			}
		}
	}

	kept := keep("s")
	kept.Stdout, kept.Stderr = &out, &out
	if err := kept.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = kept.Process.Kill(); _ = kept.Wait() })
	starts := func(n int) func() bool {
		return func() bool { return strings.Count(p.log(t, "kept.log"), "started") == n }
	}
	until("its start", starts(1))
	until("its words", func() bool { return strings.Contains(out.String(), "service kept writes") })
	p.until(t, "sc query kept", "4  RUNNING")
	time.Sleep(4 * time.Second) // one that dies earlier ends its keeper
	p.line(t, "taskkill /f /im prog.exe")
	until("its second start", starts(2))
	p.until(t, "sc query kept", "4  RUNNING")
	if got := p.line(t, "sc stop kept >nul"); got.code != 0 {
		t.Errorf("%+v", got)
	}

	until("the word of its stop", func() bool { return p.log(t, "state/kept") == keeper.Stopped })
	time.Sleep(2 * time.Second) // more than the delay of the failure action
	if !starts(2)() {
		t.Errorf("a service that was stopped by hand was started: %s", p.log(t, "kept.log"))
	}

	p.line(t, "sc start kept")
	until("the word of its start", func() bool { return p.log(t, "state/kept") == "" })
	if !starts(3)() {
		t.Errorf("the service was started otherwise than by hand: %s", p.log(t, "kept.log"))
	}
	if err := kept.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	_ = kept.Wait() // it was killed
	ended := keep("F")
	text, err := ended.CombinedOutput()
	if err == nil || (!strings.Contains(string(text), "start service kept") && !strings.Contains(string(text), "ended soon after its start")) {
		t.Errorf("a service that fails at once: %v, %s", err, text)
	}
}

// syncBuffer is a buffer that is read while it is written.
type syncBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
