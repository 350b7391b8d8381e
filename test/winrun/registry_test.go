//go:build wine

package winrun

import "testing"

// testRegistry uses PowerShell's cmdlets for the registry, archives, paths and processes on Windows' own calls.
func testRegistry(t *testing.T, p prefix) {
	t.Helper()
	for _, tt := range []struct{ script, want string }{
		{
			`New-Item HKCU:\Software\Tried\Deep -Force | Out-Null; Test-Path HKCU:\Software\Tried
New-ItemProperty HKCU:\Software\Tried -Name Text -Value said | Out-Null
New-ItemProperty HKCU:\Software\Tried -Name Number -PropertyType DWord -Value 7 | Out-Null
New-ItemProperty HKCU:\Software\Tried -Name Many -PropertyType MultiString -Value a,b | Out-Null
(Get-ItemProperty HKCU:\Software\Tried).Text; (Get-ItemProperty HKCU:\Software\Tried).Number
(Get-ItemPropertyValue HKCU:\Software\Tried Many).Count
reg query HKCU\Software\Tried /v Number | Select-String REG_DWORD | Measure-Object | % { $_.Count }
Get-ChildItem HKCU:\Software\Tried -Name`,
			"True\nsaid\n7\n2\n1\nDeep\n",
		},
		{
			`Set-ItemProperty HKCU:\Software\Tried Text other; (Get-ItemProperty HKCU:\Software\Tried).Text
Remove-ItemProperty HKCU:\Software\Tried Text; Remove-Item HKCU:\Software\Tried -Recurse; Test-Path HKCU:\Software\Tried
(Get-ItemProperty 'HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion').CurrentBuild.Length -gt 3`,
			"other\nFalse\nTrue\n",
		},
		{
			`mkdir C:\packed\in | Out-Null; Set-Content C:\packed\in\one.txt 1; Compress-Archive C:\packed C:\it.zip
Expand-Archive C:\it.zip C:\out; Get-Content C:\out\packed\in\one.txt; Get-ChildItem C:\out -Recurse -File -Name
Move-Item C:\out\packed\in\one.txt C:\moved.txt; Test-Path C:\out\packed\in\one.txt; Get-Content C:\moved.txt
Join-Path C:/a b; Split-Path C:\a\b; Remove-Item C:\packed, C:\out, C:\it.zip, C:\moved.txt -Recurse`,
			"1\npacked\\in\\one.txt\nFalse\n1\nC:\\a\\b\nC:\\a\n",
		},
		{
			`$p = Start-Process cmd -ArgumentList '/c exit 5' -Wait -PassThru; $p.ExitCode
Start-Process cmd.exe '/c echo said' -Wait -RedirectStandardOutput C:\said.txt; Get-Content C:\said.txt
$s = Start-Process cmd '/c pause' -PassThru; Stop-Process $s.Id; $s.WaitForExit(20000); $s.HasExited
$PSVersionTable.PSVersion.Major; (Get-Command cmd).CommandType; Remove-Item C:\said.txt`,
			"5\nsaid\nTrue\nTrue\n5\nApplication\n",
		},
		{
			`$o = Get-CimInstance Win32_OperatingSystem; $o.SystemDrive; $o.Caption; $o.BuildNumber; $o.TotalVisibleMemorySize -gt 1000
$o.LocalDateTime.Year -ge 2024; (Get-WmiObject Win32_Process -Filter "ProcessId = $pid").Name
Get-CimInstance Win32_Nothing 2>$null; $Error[0].Exception.Message
(Get-CimInstance -Query "SELECT Name FROM Win32_Service WHERE Name = 'RpcSs'").Name
@(Get-CimInstance Win32_Service -Filter "Name LIKE 'none of%'").Count`,
			"C:\nMicrosoft Windows Server 2022 Datacenter\n20348\nTrue\nTrue\npowershell.exe\nInvalid class\nRpcSs\n0\n",
		},
		{
			`New-Service tried 'C:\tried.exe --run' -DisplayName 'Tried' -StartupType Manual -DependsOn RpcSs | % { $_.Name }
(Get-CimInstance Win32_Service -Filter "Name = 'tried'").StartMode; (Get-Service tried).StartType
Set-Service tried -StartupType Disabled -DisplayName Other; (Get-Service tried).StartType
(Get-Service tried).DisplayName; (Get-ItemProperty HKLM:\SYSTEM\CurrentControlSet\Services\tried).ImagePath
Start-Service tried 2>$null; $?; sc.exe delete tried | Out-Null; @(Get-Service trie*).Count`,
			"tried\nManual\nManual\nDisabled\nOther\nC:\\tried.exe --run\nFalse\n0\n",
		},
		{
			`(Start-Job { 'from a job' } | Receive-Job -Wait); Set-Content C:\u.txt 'ä' -Encoding Unicode
Get-Content C:\u.txt; (Get-FileHash C:\u.txt).Hash.Length; Remove-Item C:\u.txt`,
			"from a job\nä\n64\n",
		},
		{ // what a script asks that a batch file runs, and whose arguments hold JSON
			`Set-Content C:\asking.ps1 '$p = gwmi win32_process -Filter "ProcessId=''$pid''" | % { $_.parentprocessid }
$line = (gwmi win32_process -Filter "ProcessId=''$p''").commandline
$line.Substring($line.IndexOf(".cmd") + 4).Trim(""" ")
(Get-CimInstance Win32_Process -Filter "ProcessId=$p" -Property CommandLine).CommandLine -eq $line
"$env:asking_first"; exit 3'
Set-Content C:\asking.cmd '@echo off', '::::::', 'setlocal enabledelayedexpansion', 'set of=%~dpn0',
  'set asking_first=%1', 'powershell.exe -NoLogo -Sta -ExecutionPolicy "ByPass" -Command "%of%.ps1"', 'goto :eof'
C:\asking.cmd first c:\a\b '{"a.b/c":"d!e","f":"Zw=="}' 2>&1; $LASTEXITCODE; Remove-Item C:\asking.*`,
			"first c:\\a\\b {\\\"a.b/c\\\":\\\"d!e\\\",\\\"f\\\":\\\"Zw==\\\"}\nTrue\nfirst\n1\n",
		},
		{ // paths without a drive
			`cd C:\windows\system32; cd\; "$pwd"; cd windows\system32; cd \windows; "$pwd"; (Get-Item \windows).FullName; cd /; "$pwd"`,
			"C:\\\nC:\\windows\nC:\\windows\nC:\\\n",
		},
		{ // a link to a share
			`cmd /c "mklink /D C:\shared \\none\data\x" 2>&1 | Out-Null; $i = Get-Item C:\shared; $i.LinkType; $i.Target[0]
"$($i.PSIsContainer) $($i.Mode)"; Test-Path C:\shared -PathType Container; $ErrorActionPreference = 'Stop'
try { cmd /c "mklink /D C:\shared \\none\more" 2>&1 | Out-Null; 'made' } catch { 'caught' }
$i.delete(); Test-Path C:\shared; mkdir C:\shared\in | Out-Null; try { (Get-Item C:\shared).Delete() } catch { "$_" }
(Get-Item C:\shared).Delete($true); Test-Path C:\shared`,
			"SymbolicLink\nUNC\\none\\data\\x\nTrue d----l\nTrue\ncaught\nFalse\n" +
				"Exception calling \"Delete\" with \"0\" argument(s): \"The directory is not empty.\n\"\nFalse\n",
		},
	} {
		if got := p.run(t, "--", "powershell", "-c", tt.script); got.code != 0 || got.out != tt.want {
			t.Errorf("%s: %+v, want %q", tt.script, got, tt.want)
		}
	}

	p.run(t, "--", "powershell", "-c", `[Environment]::SetEnvironmentVariable('FOR_ALL', 'yes', 'Machine')`)
	if got := p.run(t, "--", "cmd", "/c", "echo %FOR_ALL%"); got.out != "yes\n" {
		t.Errorf("a program that is started later has the machine's variable as %+v", got)
	}
	p.run(t, "--", "powershell", "-c", `[Environment]::SetEnvironmentVariable('FOR_ALL', '', 'Machine')`)
}
