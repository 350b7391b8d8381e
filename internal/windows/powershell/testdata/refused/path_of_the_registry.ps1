Get-Content HKLM:/Software
