Set-Content a 1 -Verbose
Remove-Item a -Confirm:$false -Debug
Test-Path a
