Get-Item a, cert:/x
