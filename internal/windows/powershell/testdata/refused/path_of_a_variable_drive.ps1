Get-Content "variable:$x"
