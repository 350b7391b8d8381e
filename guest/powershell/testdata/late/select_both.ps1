$o = '{}' | ConvertFrom-Json; $o | Select-Object -Property a -ExpandProperty b
