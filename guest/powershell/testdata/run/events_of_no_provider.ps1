Get-WinEvent -ListProvider none | Format-Table -AutoSize
