('[{"name":"a"},{"name":"b"}]' | ConvertFrom-Json).name -join ','
