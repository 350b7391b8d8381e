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

// watchScript has a FileSystemWatcher tell what is made in folders that are there already, and in one that takes the
// place of another.
const watchScript = `mkdir C:\wd\a\b | Out-Null
$w = New-Object IO.FileSystemWatcher 'C:\wd'
$w.IncludeSubdirectories = $true
$w.EnableRaisingEvents = $true
$null = Register-ObjectEvent $w Created Made
function Next { (Wait-Event Made -Timeout 20 | Select-Object -First 1).SourceEventArgs.Name; Remove-Event Made }
'x' | Set-Content C:\wd\a\b\1.txt; Next
'x' | Set-Content C:\wd\2.txt; Next
Remove-Item C:\wd\a -Recurse -Force
mkdir C:\wd\a | Out-Null; Next
'x' | Set-Content C:\wd\a\3.txt; Next
`

func testFoldersBelow(t *testing.T, p prefix) {
	t.Helper()
	p.Write(t, "watch.ps1", strings.ReplaceAll(watchScript, "\n", "\r\n"))
	got := p.run(t, "--", "powershell", "-File", `C:\watch.ps1`)
	if want := "a\\b\\1.txt\n2.txt\na\na\\3.txt\n"; got.out != want || got.code != 0 {
		t.Errorf("%+v, want %q", got, want)
	}
}
