function f {
  [CmdletBinding()]
  param([Parameter(Mandatory = $true, Position = 0)][ValidateNotNullOrEmpty()][string]$Name, [Parameter(Position=1)][ValidateSet('one', "two")][Alias('k', 'sort')]$Kind = 'one', [Parameter()][AllowNull()][int[]]$Ports)
  "$Name $Kind $($Ports -join '+')"
}
f a; f -Name b -k TWO; f c -sort one -Ports 1, 2; f c one 80
f; 'after missing'; f ''; 'after empty'; f a three; 'after set'; f -Name x -Kind four; f a one 1 extra; 'after extra'
try { f } catch [System.Management.Automation.ParameterBindingException] { "caught $_" }
function g([Parameter(Mandatory)]$a, [Parameter(Mandatory=$false)]$b) { "$a-$b" }; g 1; g
[int]$n = '5'; $n + 1; $n = '7'; $n + 1; [string]$s = 5; $s + 1; [string[]]$l = 1, 2; $l[0] + 'x'
function hh([int]$p) { $p = '9'; $p + 1 }; hh 3; [int]$m = 1; $m++; $m; [int]'4' + 1; [bool]$b = 1; $b

