(1, 2).Where({ $true }, 'Sideways')
