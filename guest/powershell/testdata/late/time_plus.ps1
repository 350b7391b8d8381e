[DateTime]::Now + 1
