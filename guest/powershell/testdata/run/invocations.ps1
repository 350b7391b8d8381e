function Get-Name { $MyInvocation.MyCommand.Name; $MyInvocation.InvocationName }
Get-Name
Set-Content say.ps1 '$MyInvocation.MyCommand.Name; $MyInvocation.MyCommand.Path; Split-Path -Parent $MyInvocation.MyCommand.Definition; Get-Name'
./say.ps1
. ./say.ps1
"[$($MyInvocation.MyCommand.Name)][$($MyInvocation.MyCommand.Path)]"
