[DateTime]::Now - 1
