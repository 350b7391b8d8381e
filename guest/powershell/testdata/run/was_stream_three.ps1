Write-Warning x 3>&1
