function f { [CmdletBinding()] param($n) Write-Verbose "said $n"; Get-Item $n; "end $n" }
f none -ErrorAction SilentlyContinue; f none -ErrorVariable e -OutVariable o 2>$null; "$e; $o"
try { f none -ErrorAction ([Management.Automation.ActionPreference]::Stop) -ev stopped } catch { "caught $_" }; $stopped.Count
f none -Verbose -ErrorAction 0; f none -vb:$false -ErrorAction Ignore; $ErrorActionPreference
function declared { param([Parameter()]$ErrorText) "text $ErrorText" }; declared -Error x -OutVar kept; "$kept"; declared -ErrorText y -ErrorV +e; $e.Count
function plain($ErrorVariable) { "own $ErrorVariable" }; plain -ErrorVariable z; function own { [CmdletBinding()] param($OutVariable) "own $OutVariable" }; own -OutVariable w
function nothing { param($a) $a }; try { nothing 1 -OutVariable x } catch { "$_" }
function throws { [CmdletBinding()] param() throw 'inner' }; try { throws -ErrorVariable t } catch { "$t" }
try { f none -ErrorVariable } catch { "$_" }
1, 2 | & { [CmdletBinding()] param([Parameter(ValueFromPipeline)]$x) process { $x * 2 } } -OutVariable doubled; "$doubled"
Filter Only { Param([string] $wanted, [switch] $loud) Begin { $n = 0 } Process { if ($_ -like $wanted) { $n++; $_ } } End { if (-not $n) { throw "none of $wanted" } } }
'ab', 'cd' | Only a*; try { 'ab', 'cd' | Only x* } catch { "$_" }; fIlTeR half { $_ / 2 }; 2, 4 | half
