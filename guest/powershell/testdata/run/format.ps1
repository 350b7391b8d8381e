[pscustomobject]@{Name = 'a'; Size = 1}, [pscustomobject]@{Name = 'longer'; Size = 12345; More = 1}
'between'
[pscustomobject]@{A = 1; B = 2; C = 3; D = 4; E = 5}
'text'
Get-Process | Select-Object *
Get-Process | Format-Table Id, @{n = 'Twice'; e = { $_.Id * 2 }}, ProcessName -AutoSize
Get-Process | ft ProcessName -HideTableHeaders
Get-Process | Format-List
Get-Process -Id 4 | fl Id, @{l = 'Upper'; e = { $_.Name.ToUpper() }}
@{one = 1; two = 2, 3} | Format-Table
@{one = 1} | Format-List
'a', 2 | Format-Table
'a' | Format-List
Get-Process | Format-Table
$x = [pscustomobject]@{Long = 'x' * 200; Lines = "1`n2"; Other = 'y' * 100}
$x | Format-Table
$x | Format-Table -Wrap
($x | Format-Table Long | Out-String -Width 20).Trim()
$x | ft L*
Get-Process -Id 4 | ft Nothing, Id
[pscustomobject]@{Only = 1.5}
Measure-Object -InputObject 'a b' -Word -Line
Get-Process | Select-Object P*
$t = Get-Process -Id 4 | ft Id; $t; $t
[timespan]::FromSeconds(5) | Format-List Seconds, Minutes
[pscustomobject]@{} | Format-Table
