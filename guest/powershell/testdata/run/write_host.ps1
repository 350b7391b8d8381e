Write-Host a b 1
Write-Host -NoNewline c
Write-Host
'x', 'y' | Write-Host
Write-Host (1, 2) 3
