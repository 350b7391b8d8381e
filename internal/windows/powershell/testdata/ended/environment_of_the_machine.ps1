[Environment]::SetEnvironmentVariable('A', 'b', 'Machine')
