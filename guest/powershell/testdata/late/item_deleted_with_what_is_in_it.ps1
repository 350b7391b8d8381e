Set-Content file x; (Get-Item file).Delete($true)
