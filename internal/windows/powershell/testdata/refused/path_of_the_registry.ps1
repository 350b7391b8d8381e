Test-Path HKLM:/Software
