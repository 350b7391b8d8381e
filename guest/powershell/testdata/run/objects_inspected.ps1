# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility/add-member
$o = [pscustomobject]@{ a = 1; b = 2 }
$o.PSObject.Properties | ForEach-Object { "$($_.Name)=$($_.Value) $($_.MemberType) $($_.TypeNameOfValue)" }
$o.psobject.properties.name -join ','
$o | Add-Member -NotePropertyName c -NotePropertyValue 3; $o.c
$o | Add-Member -MemberType ScriptMethod -Name Sum -Value { param($n) $this.a + $this.b + $n }; $o.Sum(4)
$o | Add-Member ScriptProperty Twice { $this.a * 2 } { param($v) $this.a = $v / 2 }; $o.Twice; $o.Twice = 8; $o.a
$o | Add-Member AliasProperty Alfa a; $o.Alfa
$o | Add-Member NoteProperty d 4 -PassThru | Select-Object d
Add-Member -InputObject $o e 5; $o.e
$o | Add-Member @{ f = 6; g = 7 }; $o.g; Add-Member -InputObject $o -NotePropertyMembers @{ gg = 8 } -TypeName My.Type; $o.gg
$o | Add-Member -MemberType NoteProperty -Name a -Value 9 -ErrorAction SilentlyContinue; $o.a
$o | Add-Member -MemberType NoteProperty -Name a -Value 9 -Force; $o.a
$o.psobject.properties['b'].Value = 20; $o.b; $o.psobject.properties.Item('b').IsSettable; $o.psobject.properties['b'].IsGettable
$o.psobject.properties['b'].IsInstance
if ($o.PSObject.Properties.Match('z*').Count) { 'yes' } else { 'no' }
$o.PSObject.Properties.Remove('b'); $o.PSObject.Properties.Add((New-Object System.Management.Automation.PSNoteProperty('h', 8))); $o.h
$o.PSObject.Copy().h; $o.psobject.TypeNames[0]; $o.psobject.BaseObject.h; $o.psobject.ImmediateBaseObject.h
$o.psobject.Methods | ForEach-Object Name
$o.psobject.Members | Measure-Object | ForEach-Object Count
'text'.psobject.properties.name; 'text' | Add-Member x 1 -ErrorAction SilentlyContinue; $?
# methods that every value has
(1..5).Where({ $_ -gt 3 }); (1..3).ForEach({ $_ * 2 }); @('a', 'b').ForEach('ToUpper'); (1..5).Where{ $_ % 2 }
(1..9).Where({ $_ -gt 5 }, 'First'); (1..9).Where({ $_ -gt 5 }, 'Last', 2); ((1..9).Where({ $_ -eq 5 }, 'SkipUntil')).Count
((1..9).Where({ $_ -eq 5 }, 'Until')).Count
$small, $big = (1..4).Where({ $_ -le 2 }, 'Split'); "$small | $big"
(1, 2).ForEach([string])[0].GetType().Name
try { (1, 2).Where({ $true }, 'Sideways') } catch { $_.Exception.Message }
# blocks
$block = { param($n) "hi $n" }; $block.Invoke('al'); $block.InvokeReturnAsIs('bo')
$k = 1; $kept = { $k }.GetNewClosure(); $k = 2; & $kept
# ForEach-Object and Select-Object
1..3 | ForEach-Object -Begin { $s = 0 } -Process { $s += $_ } -End { $s }
1..3 | ForEach-Object { 'begin' } { $_ } { 'end' }
'b', 'a' | ForEach-Object Replace 'a' 'c'; 'x' | ForEach-Object -MemberName ToUpper; ForEach-Object -InputObject 5 { $_ }
'x' | % -MemberName PadLeft -ArgumentList 3, '.'
1 | ForEach-Object -Process { $_ } -RemainingScripts { 10 + $_ }
1..10 | Select-Object -Index 0, 5; 1..5 | Select-Object -SkipLast 3
[pscustomobject]@{ a = 1; b = 2 } | Select-Object * -ExcludeProperty a; 1 | Select-Object -First 1 -Wait
