//go:build wine

package winrun

import (
	"os"
	"strings"
	"testing"
)

// testTasks registers scheduled tasks by both ways, which the service Schedule runs; one runs when Windows is started
// again.
func testTasks(t *testing.T, p prefix) {
	t.Helper()
	const register = `$a = New-ScheduledTaskAction -Execute cmd.exe -Argument '/c echo ran>>C:\\task.txt'; ` +
		`(Register-ScheduledTask -TaskName t -Action $a -Trigger (New-ScheduledTaskTrigger -AtStartup) -User SYSTEM).State; ` +
		`(Get-Service Schedule).StartType`
	if got := p.run(t, "--", "powershell", "-Command", strings.ReplaceAll(register, `\\`, `\`)); got.out != "Ready\nAutomatic\n" || got.err != "" {
		t.Fatalf("%+v", got)
	}
	if _, err := os.Stat(p.Path("task.txt")); err == nil {
		t.Error("a task for the start of Windows has run when it was registered")
	}

	if got := p.line(t, `schtasks /run /tn t`); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	p.until(t, `type C:\task.txt`, "ran")
	p.until(t, `schtasks /query /tn t /v /fo list`, "Last Result:                          0")

	p.Stop() // the registry is on disk now
	p.fresh(t)
	p.until(t, `type C:\task.txt`, "ran\nran")

	if got := p.line(t, `schtasks /create /tn no /sc onlogon /tr x`); got.code != 1 || !strings.Contains(got.err, "onlogon") {
		t.Errorf("%+v", got)
	}
	if got := p.line(t, `schtasks /delete /tn * /f && sc stop Schedule`); got.code != 0 {
		t.Errorf("%+v", got)
	}
}
