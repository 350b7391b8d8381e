Write-Host 'red' -ForegroundColor Red -BackgroundColor Black; Write-Host 1, 2, 3 -Separator '-'; Write-Host a b -Separator ''; Write-Host (1, (2, 3))
