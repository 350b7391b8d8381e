function each { begin { 'begin'; $n = 0 } process { $n += $_; "item $_" } end { "end $n" } }
1..3 | each
each
function sum { $t = 0; foreach ($i in $input) { $t += $i }; $t }
1, 2, 3 | sum
filter double { $_ * 2 }
1, 2 | double
function named { param([Parameter(Mandatory, ValueFromPipeline)][int]$n, $by = 2) process { $n * $by } }
1, 2 | named
1, 2 | named -by 5
named 4
function last { param([Parameter(ValueFromPipeline = $true)]$x) "last $x" }
1, 2 | last
function byname { param([Parameter(ValueFromPipelineByPropertyName)]$Name, [Alias('Id')][Parameter(ValueFromPipelineByPropertyName = $true)]$Number) process { "$Name $Number" } }
Get-Process | byname
Get-Process -Id 4 | byname -Name given
[timespan]::FromSeconds(3) | & { param([Parameter(ValueFromPipelineByPropertyName)]$Seconds) "seconds $Seconds" }
function early { process { if ($_ -eq 2) { return }; $_ } }
1..3 | early
1..3 | & { process { "block $_" } }
Set-Content f.ps1 'process { "file $_" }'
1, 2 | ./f.ps1
@() | each
Invoke-Expression 'begin { 1 } end { 2 }'
function none { param([Parameter(ValueFromPipeline = $false)]$x) "[$x]" }
1 | none
