$o = '{}' | ConvertFrom-Json; $o.a = 1
