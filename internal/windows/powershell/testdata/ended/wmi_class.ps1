Get-CimInstance 'a b'
