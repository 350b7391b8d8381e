$env:CNI_COMMAND = 'ADD'
Test-Path env:CNI_COMMAND
Remove-Item env:CNI_COMMAND
if (test-path env:CNI_COMMAND){ 'there' } else { 'gone' }
Get-ChildItem env:
Get-Item env:COMPUTERNAME
ls env:H* -Name
(Get-Item env:HOME).Value
Get-Item env:NOTHING
