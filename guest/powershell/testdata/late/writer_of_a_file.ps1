New-Object System.IO.StreamWriter 'file'
