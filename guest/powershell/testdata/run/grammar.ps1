# about_Join, about_Split: with one operand
-join ('a', 'b', 'c'); -split ' one  two '; "x" + -join (1, 2)
# about_Functions: the name may be on the next line
function
Twice($x) { $x * 2 }
Twice 4
# about_Assignment_Operators: several variables, with types, members and items
$a, [int]$b = '10.0.0.0/16'.Split('/'); $a; $b + 1
$t = @{ x = 0 }; $t.x, $t['y'] = 1, 2; $t.x; $t.y
($t).x = 5; $t.x; ($t).x += 2; $t.x; [int]$t.z = '7'; $t.z + 1
# about_Operators: a static member of a type that is a value; -is and -as with such a type
$m = [math]; $m::Max(2, 3); $m::PI -gt 3; $type = [string]; 1 -as $type; 'x' -is $type; $type = 'int'; 5 -is $type
# about_Arithmetic_Operators: before and after
$i = 1; ++$i; $i; $i++; ($i++); $i; ($i--); $t.x++; $t.x
for ($i = 0, ($j = 5); $i -lt 2; $i++, ($j = $j - 1)) { }; $j
for ($k = 0; $k -lt 2; ++$k) { }; $k; $k ++; $k
if (
  $true
) { 'on its own line' }
# about_Redirection
Write-Warning w 3>$null; $w = Write-Warning w 3>&1; "got $w"; Write-Host h 6>$null; Get-Item no-such 2> errors.txt; (Get-Content errors.txt) -like '*no-such*'
Get-Item no-such *> all.txt; (Get-Content all.txt).Count -gt 0; & { 'o'; Write-Warning w; Get-Item no-such } *>&1 | ForEach-Object { 'one' }
Get-Item no-such 2>> errors.txt; @(Get-Content errors.txt).Count; Write-Verbose v -Verbose 4> v.txt; Get-Content v.txt
# about_Parsing
printf --% "[%s]" "a b" c
echo a{1}; 5l; 0x10L; 1.5d; echo -o"x y"
# about_Using, about_Type_Accelerators
using namespace System.Text; [StringBuilder]::new('built').ToString()
# about_Automatic_Variables
function Given($First, $Second) { ($PSBoundParameters.Keys | Sort-Object) -join ','; $PSBoundParameters.ContainsKey('Second'); $PSBoundParameters['First'] }
Given -First 1; Given 1 2; $PSEdition; $PSCulture; $PSHOME; $null -eq $IsWindows; $ShellId; $PROFILE -like '*Microsoft.PowerShell_profile.ps1'
function Deep { Deep }; try { Deep } catch { $_.FullyQualifiedErrorId }
function Set-It { [Alias('si2')] param() 'by its alias' }; si2
[Net.IPAddress[]]('10.0.0.1', '10.0.0.2') | ForEach-Object { $_.ToString() }
