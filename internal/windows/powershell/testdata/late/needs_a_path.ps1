Get-Content
