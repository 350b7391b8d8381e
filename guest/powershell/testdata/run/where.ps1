$l = '[{"n":"a","v":1},{"n":"b","v":2},{"n":"c"}]' | ConvertFrom-Json
($l | Where-Object v -GT 1).n
($l | where v).n -join ','
($l | ? { $_.n -eq 'c' }).n
($l | ? n -in 'a', 'b').n -join ','
($l | ? n -Like '[bc]').n -join ','
($l | ? n -NotMatch 'a').n -join ','
($l | ? n -NE a).n -join ','
($l | ? v -LE 1).n -join ','
($l | ? v -Lt 2).n -join ','
($l | ? v -Ge 2).n
($l | ? n -Match '^a').n
($l | ? n -NotLike 'a').Count
($l | ? n -NotIn 'a').Count
