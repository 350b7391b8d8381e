$Error.Count
Get-Item nothing -ErrorAction SilentlyContinue
$Error.Count
$Error[0].Exception.Message
Get-Item other -ErrorAction Ignore
$Error.Count
try { throw 'mine' } catch { "caught $_" }
"$($Error[0])"
Write-Error 'said'
[int]::Parse('x')
$Error.Count
$Error[0].Exception.Message
$Error.Clear()
$Error.Count
