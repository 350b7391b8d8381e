Write-Host x -ForegroundColor Orange
