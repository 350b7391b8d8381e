$a = 'Inquire'; Get-Item none -ErrorAction $a
