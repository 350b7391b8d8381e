$n = "args"; Write-Output x -OutVariable $n
