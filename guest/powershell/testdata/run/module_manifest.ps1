# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_module_manifests
mkdir Rack, Rack/inner | Out-Null
Set-Content Rack/Rack.psd1 @'
# a comment
@{
    RootModule = 'Rack.psm1'
    ModuleVersion = '1.2.0'
    NestedModules = @('inner\Helper.psm1', @{ ModuleName = 'inner/Extra.psm1'; ModuleVersion = '1.0' })
    FunctionsToExport = @('Get-*', 'Add-Slot', 'helped')
    CmdletsToExport = @(); AliasesToExport = 'slots'
    ScriptsToProcess = @('before.ps1')
    RequiredModules = @('Microsoft.PowerShell.Utility')
    PrivateData = @{ PSData = @{ Tags = 'a', "b"; Where = "$PSScriptRoot"; On = $true; None = $null; N = -1 } }
}
'@
Set-Content Rack/before.ps1 "`$fromScript = 'in the scope of who imports'"
Set-Content Rack/inner/Helper.psm1 'function helped { "helped from $(Split-Path -Leaf $PSScriptRoot)" }; function hidden { 1 }'
Set-Content Rack/inner/Extra.psm1 'function Get-Extra { "extra" }'
Set-Content Rack/Rack.psm1 @'
$script:slots = 4
$Kept = 'a variable'
function Get-Slot { [Alias('slots')] param() "$script:slots slots, $(helped)" }
function Add-Slot { param([int]$By = 1) $script:slots += $By }
function Remove-Slot { 'never exported' }
function Get-Twice { Get-Extra; Get-Extra }
Export-ModuleMember -Function * -Alias * -Variable Kept
'@
Import-Module ./Rack
$fromScript
Get-Slot
Add-Slot -By 2
slots
Get-Twice
helped
$Kept
try { Remove-Slot } catch { $_.FullyQualifiedErrorId }
try { hidden } catch { $_.FullyQualifiedErrorId }
$m = Get-Module Rack
"$($m.Name) $($m.Version) $($m.ModuleType) $(($m.ExportedCommands) -join ' ')"
$d = Import-PowerShellDataFile ./Rack/Rack.psd1
$d.RootModule; $d.PrivateData.PSData.Tags -join '+'; Split-Path -Leaf $d.PrivateData.PSData.Where; $d.PrivateData.PSData.N; $d.NestedModules[1].ModuleName
(Import-PowerShellDataFile -LiteralPath ./Rack/Rack.psd1).ModuleVersion
Remove-Module Rack
try { Get-Slot } catch { 'removed' }; $null -eq (Get-Module Rack)
$p = Import-Module ./Rack/Rack.psd1 -Prefix My -PassThru
$p.Name
Get-MySlot
myhelped
try { Get-Slot } catch { 'only with the prefix' }
Get-Module Rack | Remove-Module -Force
mkdir modules, modules/Found, modules/Found/1.9, modules/Found/1.10 | Out-Null
Set-Content modules/Found/1.9/Found.psd1 '@{ ModuleVersion = "1.9"; RootModule = "Found" }'
Set-Content modules/Found/1.9/Found.psm1 'function Get-Found { "1.9" }'
Set-Content modules/Found/1.10/Found.psd1 '@{ ModuleVersion = "1.10"; RootModule = "Found"; DefaultCommandPrefix = "X" }'
Set-Content modules/Found/1.10/Found.psm1 'function Get-Found { "1.10" }; function Get-Other { 1 }'
$env:PSModulePath = "$PWD/modules"
(Get-Module -ListAvailable Fou*).Version.ToString()
Import-Module Found -MinimumVersion 1.5 -Function Get-Found
Get-XFound
try { Get-XOther } catch { 'not wanted' }
Import-Module Found -RequiredVersion 9.0 -ErrorAction SilentlyContinue; "$?"
Import-Module Nowhere -ErrorAction SilentlyContinue -ErrorVariable e; $e[0].FullyQualifiedErrorId; "$($e[0])"
Import-Module ./nothing.psm1 -ErrorAction SilentlyContinue; 'and goes on'
try { Import-Module Hyper-V -ErrorAction Stop } catch { "$_" }
Import-Module -Scope Global NetAdapter, netsecurity, Microsoft.PowerShell.Management; "$?"
Set-Content bad.psd1 '@{ A = (Get-Date) }'
try { Import-PowerShellDataFile bad.psd1 } catch { $_.FullyQualifiedErrorId }
Set-Content bad.psd1 '@{ A = $env:PATH }'
try { Import-PowerShellDataFile bad.psd1 } catch { $_.CategoryInfo.Category }
Set-Content bad.psd1 'Get-Date'
try { Import-Module ./bad.psd1 } catch { $_.FullyQualifiedErrorId }
Set-Content bad.psd1 '@{ }'
try { Import-Module ./bad.psd1 } catch { 'no version' }
Set-Content bad.psd1 '@{ ModuleVersion = "1.0"; RootModule = "x.dll" }'
try { Import-Module ./bad.psd1 } catch { "$_" -replace ' [^ ]*x.dll', ' x.dll' }
Set-Content bad.psd1 '@{ ModuleVersion = "1.0"; RequiredAssemblies = "x.dll" }'
try { Import-Module ./bad.psd1 } catch { $_.FullyQualifiedErrorId }
Set-Content bad.psd1 '@{ ModuleVersion = "1.0"; NestedModules = "bad.psd1" }'
try { Import-Module ./bad.psd1 } catch { ("$_" -split 'nesting')[1] }
Remove-Module None; 'end'
gmo | rmo
