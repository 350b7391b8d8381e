'C' | Get-Volume
