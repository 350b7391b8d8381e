'a' -replace '\Qa', 'b'
