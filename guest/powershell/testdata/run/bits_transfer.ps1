# https://learn.microsoft.com/powershell/module/bitstransfer/start-bitstransfer
'one' | Set-Content one.txt
'two' | Set-Content two.txt
New-Item -ItemType Directory to | Out-Null
Start-BitsTransfer -Source one.txt -Destination copy.txt -Priority Foreground -TransferType Download
Get-Content copy.txt
Start-BitsTransfer one.txt, two.txt to -DisplayName both -Description 'two files'
Get-ChildItem to | ForEach-Object Name
Start-BitsTransfer one.txt, two.txt a.txt, b.txt
Get-Content b.txt
'one.txt' | Start-BitsTransfer -Destination to/again.txt
Get-Content to/again.txt
Start-BitsTransfer one.txt a, b
Start-BitsTransfer none.txt to
Start-BitsTransfer to copy.txt
try { Start-BitsTransfer http://127.0.0.1:1/x.zip x.zip } catch { 'refused' }
Test-Path x.zip
Start-BitsTransfer one.txt to -Asynchronous
