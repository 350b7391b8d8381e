'[{"name":"a"},{"name":"b"}]' | ConvertFrom-Json | ? Name -EQ 'B'.ToLower() | Select-Object -ExpandProperty name
