# a script has no history (about_History): what is asked of it is empty, or an error
Get-History
@(ghy).Count + @(h).Count + @(history -Count 3).Count
Get-History -Id 7
try { Invoke-History -ErrorAction Stop } catch { "none: $_" }
ihy 7
r Get
Clear-History
clhy
