# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_ref
function Test([ref]$data) { $data.Value = 3 }
$var = 10
Test ([ref]$var)
"a function sets it: $var"
function Swap([ref]$a, [ref]$b) { $a.Value, $b.Value = $b.Value, $a.Value }
$x, $y = 1, 2
Swap ([ref]$x) ([ref]$y)
"$x $y"
function Both { param([ref][int]$Count, $Name) $Count.Value += 1; $Count.GetType().FullName }
$n = 5
Both -Count ([ref]$n) -Name a
$n
$number = 0
[int]::TryParse('12', [ref]$number); $number
[int]::TryParse(' -7 ', [ref]$number); $number
[int]::TryParse('12x', [ref]$number); $number
[int]::TryParse('99999999999', [ref]$null)
[long]::TryParse('99999999999', [ref]$number); $number
[double]::TryParse('1.5', [ref]$number); $number
[bool]::TryParse('TRUE', [ref]$number); $number
$address = $null
[ipaddress]::TryParse('10.0.0.1', [ref]$address); "$address"
[System.Net.IPAddress]::TryParse('ten', [ref]$address); $null -eq $address
$v = [version]'0.0'
[version]::TryParse('1.2.3', [ref]$v); "$v"
$g = [guid]::Empty
[guid]::TryParse('nothing', [ref]$g); "$g"
[datetime]$d = Get-Date
[datetime]::TryParse('2024-05-06', [ref]$d); $d.ToString('yyyyMMdd')
[datetime]::TryParse('yesterday', [ref]$d); $d.ToString('yyyyMMdd')
& { [int]::TryParse('8', [ref]$number) }; "through a scope: $number"
[int]$typed = 1
$r = [ref]$typed
$r.Value = '42'
$typed + 1
try { $r.Value = 'no number' } catch { 'it keeps its type' }
$typed
$held = [ref]'no variable'; $held.Value
$held -is [ref]
$other = [ref]$held; $other.Value.Value
(New-Object ref 5).Value
function Wants([ref]$r) { 'never' }
try { Wants 5 } catch { $_.FullyQualifiedErrorId }
try { [int]::TryParse('1', $number) } catch { $_.FullyQualifiedErrorId; "$_" }
try { Test ([ref]$undefined) } catch { $_.FullyQualifiedErrorId; "$_" }
