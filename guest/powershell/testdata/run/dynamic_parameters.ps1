# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_functions_advanced_parameters#dynamic-parameters
function Get-Thing {
    [CmdletBinding()]
    param([string]$Kind, [switch]$Loud)
    DynamicParam {
        if ($Kind -eq 'x') {
            $attribute = New-Object System.Management.Automation.ParameterAttribute
            $attribute.Mandatory = $true
            $attribute.ParameterSetName = '__AllParameterSets'
            $all = New-Object System.Collections.ObjectModel.Collection[System.Attribute]
            $all.Add($attribute)
            $all.Add((New-Object System.Management.Automation.ValidateSetAttribute('a', 'b')))
            $all.Add([System.Management.Automation.AliasAttribute]::new('Else'))
            $extra = New-Object System.Management.Automation.RuntimeDefinedParameter('Extra', [string], $all)
            $table = New-Object System.Management.Automation.RuntimeDefinedParameterDictionary
            $table.Add('Extra', $extra)
            return $table
        }
    }
    begin { "$($extra.Name) $($extra.IsSet) $($extra.Value) $($extra.Attributes.Count)" }
    process { "$Kind $($PSBoundParameters['Extra']) $Loud" }
}
Get-Thing -Kind x -Extra a
Get-Thing -Extra b x -Loud
Get-Thing x -Else a
Get-Thing -Kind y
foreach ($call in { Get-Thing -Kind y -Extra a }, { Get-Thing -Kind x -Extra c }, { Get-Thing -Kind x }) {
    try { & $call } catch { $_.FullyQualifiedErrorId }
}
$p = New-Object System.Management.Automation.RuntimeDefinedParameter('N', [int], @()); $p.Value = 5; $p.IsSet; $p.Value
$n = [System.Management.Automation.ParameterAttribute]::new(); $n.HelpMessage = 'help'; $n.HelpMessage
