$j = Start-Job -Name 'a name that is long' { Start-Sleep -Milliseconds 1; 'x' }; Wait-Job $j | Out-Null
$j
$j | Format-List Id, Name, State, HasMoreData
$j | Select-Object Name, State
Get-Job | ForEach-Object { "$($_.Name): $($_.State)" }
