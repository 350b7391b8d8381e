# -WhatIf of cmdlets: what would be done is said, and nothing is done
# https://learn.microsoft.com/powershell/scripting/learn/deep-dives/everything-about-shouldprocess
Set-Content f old; $null = mkdir d
Remove-Item f -WhatIf
Remove-Item f, d -wi
Get-ChildItem | Remove-Item -WhatIf
Copy-Item f d -WhatIf
Move-Item f d/g -WhatIf
Rename-Item f h -WhatIf
New-Item n -WhatIf
New-Item -ItemType Directory nd -WhatIf
Set-Content f new -WhatIf
Add-Content f more -WhatIf
Clear-Content f -WhatIf
Get-Content f
Get-ChildItem -Name
Get-Process | Select-Object -First 1 | Stop-Process -WhatIf
Stop-Service nosuch -WhatIf
Get-Service | Select-Object -First 1 | Restart-Service -WhatIf
Restart-Computer -WhatIf
Stop-Computer -WhatIf
Remove-Item nosuch -WhatIf
$WhatIfPreference = $true
Remove-Item f
Remove-Item f -WhatIf:$false
Test-Path f
