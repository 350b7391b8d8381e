$o = '{}' | ConvertFrom-Json; $o.a = 1
'it goes on'
