[string]::Compare('a', 'b')
