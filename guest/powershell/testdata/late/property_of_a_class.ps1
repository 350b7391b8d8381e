$u = New-Object System.Uri 'http://x/'; $u.Port = 5; $u.Nothing = 5
