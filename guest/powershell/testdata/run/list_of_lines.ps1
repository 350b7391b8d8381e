# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility/format-list
[pscustomobject]@{ Path = 'C:\data'; AccessToString = "Everyone Allow  Read`nme Allow  FullControl"; Crossed = "a`r`nb" } | Format-List
"$([pscustomobject]@{ A = 1 } | Format-List | Out-String)".Trim()
