Remove-Item a -Confirm
