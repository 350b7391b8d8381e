# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.management/get-content (-ReadCount)
Set-Content lines.txt 'a', 'b', 'c', 'd', 'e'
Get-Content lines.txt -ReadCount 2 | ForEach-Object { $_ -join '+' }
Get-Content lines.txt -ReadCount 0 | ForEach-Object { $_.Count }
(Get-Content lines.txt -ReadCount 1).Count
Get-Content lines.txt -ReadCount 3 -Tail 4 | ForEach-Object { "$_" }
