$p = 'Microsoft.PowerShell.Core\FileSystem::/x'; Get-Item $p
