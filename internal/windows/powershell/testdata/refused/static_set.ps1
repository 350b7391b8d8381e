[Environment]::NewLine = 1
