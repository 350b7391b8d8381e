# https://learn.microsoft.com/powershell/module/microsoft.powershell.utility/select-string: the lines around a match,
# of which each is shown once
1..12 | ForEach-Object { "line $_" } | Set-Content f
Select-String 'line 5' f -Context 1
Select-String 'line [47]' f -Context 2, 1
Select-String 'line 1$' f -Context 2, 0
Select-String 'line 12' f -Context 0, 3
$m = Select-String 'line [56]' f -Context 2
$m[1].Context.PreContext -join ','
$m[1].Context.DisplayPreContext -join ','
$m[0].Context.PostContext -join ','
@($m[0].Context.DisplayPostContext).Count
'a', 'b', 'c' | Select-String b -Context 1
(sls line f -List).LineNumber
@(sls line f, f -List).Count
@('ab', 'ac' | sls a -List).Count
try { sls x f -Context -1 } catch { "$_" }
