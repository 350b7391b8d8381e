'one', 'two', 'Three' | Select-String 't'; ('a=1', 'b=2' | Select-String '(\w)=(\d)').Count; $m = 'a=1' | Select-String -Pattern '(\w)=(\d)'; $m.Matches[0].Groups[2].Value; $m.Line; $m.LineNumber; $m.Matches.Success; $m.Matches[0].Index; $m.Matches[0].Length; "$m"
Set-Content f 'first', 'second', 'third'; Select-String 'ir' f; (Select-String -Path f -Pattern 'second').LineNumber; Get-Item f | Select-String third; Select-String -SimpleMatch -Pattern '.' -Path f; Select-String 'T' f -CaseSensitive; 'x' | sls 'X' -NotMatch; 'y' | Select-String x -NotMatch
'abc' | Select-String b -Quiet; 'abc' | Select-String z -Quiet; ('a1b2' | Select-String '\d' -AllMatches).Matches.Value -join ','; Select-String x none; ('k=v' | Select-String '(x)?k').Matches[0].Groups[1].Success; Select-String x no*; if ('kube' | Select-String kube) { 'found' }
('a', 'b' | Select-String 'x', 'b').Pattern

try { 'x' | Select-String '(' } catch { "$_"; "$($_.CategoryInfo.Category), $($_.FullyQualifiedErrorId)" }
