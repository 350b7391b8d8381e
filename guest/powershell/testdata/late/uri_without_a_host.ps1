[uri]'mailto:x@y'; $u = New-Object System.Uri 'file:///x'
