//go:build wine

package winrun

import (
	"testing"
)

// testWatcher has a script wait for what changes below a folder, as the agents of nodes do for a ConfigMap's volume: a
// new file, a rename, and the end of a file.
func testWatcher(t *testing.T, p prefix) {
	t.Helper()
	p.Write(t, "watch.ps1", `
$null = New-Item -ItemType Directory C:\watched
$w = New-Object System.IO.FileSystemWatcher
$w.Path = 'C:\watched'
$w.IncludeSubdirectories = $true
$w.EnableRaisingEvents = $true
$global:seen = @()
foreach ($kind in 'Created', 'Renamed', 'Deleted') {
    $null = Register-ObjectEvent $w $kind -Action {
        $global:seen += "$($EventArgs.ChangeType) $($EventArgs.OldName) $($EventArgs.Name)"
    }
}
$null = New-Item -ItemType Directory C:\watched\below
for ($i = 0; $i -lt 200 -and $global:seen.Count -lt 1; $i++) { Start-Sleep -Milliseconds 50 }
Set-Content C:\watched\below\data_tmp x
Rename-Item C:\watched\below\data_tmp data
Remove-Item C:\watched\below\data
for ($i = 0; $i -lt 200 -and $global:seen.Count -lt 4; $i++) { Start-Sleep -Milliseconds 50 }
$global:seen
`)
	want := "Created  below\nCreated  below\\data_tmp\nRenamed below\\data_tmp below\\data\nDeleted  below\\data\n"
	if got := p.run(t, "--", "powershell", "-File", `C:\watch.ps1`); got.code != 0 || got.out != want {
		t.Errorf("%+v, want %q", got, want)
	}
}
