New-Object System.IO.StreamReader 'file'
