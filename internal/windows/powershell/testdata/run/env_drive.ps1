$env:CNI_COMMAND = 'ADD'
Test-Path env:CNI_COMMAND
Remove-Item env:CNI_COMMAND
if (test-path env:CNI_COMMAND){ 'there' } else { 'gone' }
