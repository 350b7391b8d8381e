Test-NetConnection host
