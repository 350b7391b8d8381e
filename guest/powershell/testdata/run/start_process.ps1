Set-Content say 'echo said $1; echo wrong >&2; exit 3'
Start-Process sh 'say one' -NoNewWindow -Wait
$p = Start-Process sh -ArgumentList say, two -PassThru -Wait -RedirectStandardOutput out -RedirectStandardError errs
$p.HasExited; $p.ExitCode; $p.ProcessName; $p.Name; $p.Id -gt 1
Get-Content out, errs
saps sh -args say -Wait -WindowStyle Hidden
mkdir in | Out-Null
start sh -ArgumentList '../say here' -WorkingDirectory in -Wait -RedirectStandardOutput out
Get-Content out
Set-Content given 'cat'
Set-Content cat 'read x; echo "got $x"'
Set-Content words 'a b'
Start-Process sh cat -RedirectStandardInput words -NoNewWindow -Wait
$s = Start-Process sleep 60 -PassThru
$s.WaitForExit(10)
$s.HasExited; "[$($s.ExitCode)]"
$s.Kill()
$s.WaitForExit()
$s.Refresh()
$s.HasExited
$s.Kill()
Start-Process no-such-program
Start-Process sh -RedirectStandardOutput same -RedirectStandardError same
Start-Process sh -RedirectStandardInput no-such-file
