Get-Content "cert:$x"
