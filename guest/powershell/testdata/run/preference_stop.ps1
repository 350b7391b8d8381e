$WarningPreference = 'Stop'
Write-Warning last
echo 'not here'
