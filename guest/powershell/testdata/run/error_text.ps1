# How errors are shown: https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_error_records
function Get-Own { Write-Error "from a function" -ErrorId Mine -Category InvalidData -TargetObject 7 -CategoryActivity Reading -RecommendedAction 'none' }
Get-Own
Write-Error -Exception ([System.IO.IOException]'of an exception') 2>&1 | ForEach-Object { $_.FullyQualifiedErrorId; "$($_.CategoryInfo)" }
try { 1 / 0 } catch { Write-Error -ErrorRecord $_; $_.InvocationInfo.PositionMessage; $_.PSMessageDetails; $_.PipelineIterationInfo.Count }
function f { [CmdletBinding()] param([int]$n, [ValidateSet('a', 'b')]$Kind) $n }
f -n x
f -Kind c
f -Nothing 1
	if ([int]'word') { 'never' }
$x = 'a long line of a script, of which only a part is shown, because it is so long'; Get-Item none; 'and what follows it'
[byte]300; [int]3000000000
Set-Content own.ps1 'Write-Error "from a file"', 'gi none', 'throw "of a file"'
try { ./own.ps1 } catch { "$($_.InvocationInfo.ScriptLineNumber) $($_.InvocationInfo.OffsetInLine) $($_.InvocationInfo.Line)" }
$e = $Error[1]; $e.InvocationInfo.InvocationName; $e.InvocationInfo.MyCommand.Name; $e.InvocationInfo.MyCommand.CommandType
$MyInvocation.MyCommand.CommandType; function Named { $MyInvocation.InvocationName; $MyInvocation.Line; $MyInvocation.OffsetInLine }; Named
function Thrower { [CmdletBinding()] param() $PSCmdlet.ThrowTerminatingError([System.Management.Automation.ErrorRecord]::new([Exception]'made', 'MyId', 'NotInstalled', 'it')) }
Thrower
$Error[0] | Format-List FullyQualifiedErrorId, CategoryInfo -Force
$ErrorView = 'CategoryView'
Get-Item none
