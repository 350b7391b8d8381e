Set-Content x.ps1 'Optimize-Volume'; ./x.ps1
