# https://learn.microsoft.com/powershell/module/microsoft.powershell.utility/get-member
1 | Get-Member -Name *,'['
1 | Get-Member -MemberType Property -Name '['
1 | Get-Member -Name To*,nosuch* | % Name
