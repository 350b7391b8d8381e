# https://learn.microsoft.com/powershell/module/microsoft.powershell.utility/get-member#-static
[math] | Get-Member -Static -Name P*, Abs
[int] | gm -Static -Name MaxValue, Parse, new
5 | gm -Static -Name MinValue | ForEach-Object Definition
'x' | gm -Static Is* | ForEach-Object { "$($_.TypeName) $($_.Name) $($_.MemberType)" }
[DayOfWeek] | gm -Static -MemberType Property | ForEach-Object Definition
[datetime] | gm -Static -MemberType Methods -Name new, Days* | ForEach-Object Definition
@([IO.File] | gm -Static -MemberType Method).Count -gt 5
[math] | gm -MemberType Property | ForEach-Object Name
$null | gm -Static
