function Get-Thing {
  [CmdletBinding(DefaultParameterSetName = 'ByName')]
  param(
    [Parameter(ParameterSetName = 'ByName', Position = 0)][string]$Name = 'none',
    [Parameter(ParameterSetName = 'ById', Mandatory, Position = 0)][int]$Id,
    [Parameter(ParameterSetName = 'ById')][Parameter(ParameterSetName = 'ByPath')][switch]$Force,
    [Parameter(ParameterSetName = 'ByPath', Mandatory, ValueFromPipeline)]$Path,
    $Both = 'b')
  process { "$($PSCmdlet.ParameterSetName): name=$Name id=$Id path=$Path force=$Force both=$Both" }
}
Get-Thing; Get-Thing x; Get-Thing -Name y -Both z; Get-Thing -Id 7; Get-Thing -Id 7 -Force
'p', 'q' | Get-Thing -Force
try { Get-Thing -Id 1 -Name x } catch { "$_"; $_.FullyQualifiedErrorId }
try { Get-Thing -Force } catch { "$_" }
function Two { param([Parameter(ParameterSetName='A')]$x, [Parameter(ParameterSetName='B')]$y) "$($PSCmdlet.ParameterSetName) $x$y" }
Two -x 1; Two -y 2; try { Two } catch { $_.FullyQualifiedErrorId }
function Need { [CmdletBinding()] param([Parameter(Mandatory, ParameterSetName='A')]$x, [Parameter(Mandatory, ParameterSetName='B')]$y, [Parameter(ParameterSetName='C')]$z) $PSCmdlet.ParameterSetName }
Need; Need -z 1; Need -x 1
function Switch-Set { [CmdletBinding(DefaultParameterSetName='Off')] param([Parameter(ParameterSetName='On', Mandatory)][switch]$On, [Parameter(ParameterSetName='Off')][switch]$Off) $PSCmdlet.ParameterSetName }
Switch-Set; Switch-Set -On; Switch-Set -Off
function None { [CmdletBinding()] param($a) $PSCmdlet.ParameterSetName; $PSCmdlet.MyInvocation.MyCommand.Name }; None
function Plain { param($a) $null -eq $PSCmdlet }; Plain
function Rest { param([Parameter(ParameterSetName='A', ValueFromRemainingArguments)]$all, [Parameter(ParameterSetName='B', Mandatory)]$one) "$($PSCmdlet.ParameterSetName) $($all -join '+')" }; Rest a b c
function Bound { [CmdletBinding(DefaultParameterSetName='A')] param([Parameter(ParameterSetName='A')]$x = 1, [Parameter(ParameterSetName='B')]$y = 2) "$($PSBoundParameters.Count) $x $y" }; Bound; Bound -y 3
& { [CmdletBinding(DefaultParameterSetName='S')] param() $PSCmdlet.ParameterSetName }
