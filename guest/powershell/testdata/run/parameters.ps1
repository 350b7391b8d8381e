(New-Item f -Type File).Name
Start-Sleep -Milliseconds 1
'f' | Test-Path
