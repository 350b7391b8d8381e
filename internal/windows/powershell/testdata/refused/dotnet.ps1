[Environment]::Exit(0)
