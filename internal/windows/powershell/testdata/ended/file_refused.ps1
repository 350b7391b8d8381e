Set-Content x.ps1 'Get-Disk'; ./x.ps1
