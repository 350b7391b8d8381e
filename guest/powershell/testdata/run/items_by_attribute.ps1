# https://learn.microsoft.com/powershell/module/microsoft.powershell.management/get-childitem: -Attributes and the
# switches for it; hidden items are shown with -Force alone, and where Hidden is named
$null = mkdir d; Set-Content f 1; Set-Content .h 2
(gci -ad).Name -join ' '
(gci -af).Name -join ' '
(gci -Directory -Name) -join ' '
(gci -ah).Name -join ' '
(gci -Hidden -File).Name -join ' '
(gci -ReadOnly).Name -join ' '
@(gci -System).Count
(gci -Attributes Directory).Name -join ' '
(gci -Attributes !Directory).Name -join ' '
(gci -Attributes !Directory+!Hidden).Name -join ' '
(gci -Attributes !Directory -Force).Name -join ' '
(gci -Attributes 'Hidden, !Directory').Name -join ' '
(gci -Attributes 'Hidden, D').Name -join ' '
(gci -Force).Name -join ' '
(gci -s -File).Name -join ' '
(Get-Item .h -Force).Mode
try { gci -Attributes Nonsense } catch { "$_" }
