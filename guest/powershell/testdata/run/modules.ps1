Set-Content counter.psm1 @'
$count = 10
function Add-One { $script:count++; $count }
function Get-Inner { helper }
function helper { "helper of $PSScriptRoot" }
Export-ModuleMember -Function Add-*, Get-Inner
'loaded'
'@
Import-Module ./counter.psm1 -Global
Add-One
Add-One
"[$count]"
Get-Inner
Get-Command helper -ErrorAction SilentlyContinue
Set-Content plain.psm1 'function Get-Plain { "plain" }'
Import-Module "$PWD/plain.psm1" -Force
Get-Plain
Export-ModuleMember -Function x
