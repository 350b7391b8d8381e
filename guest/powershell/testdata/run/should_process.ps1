function Remove-Thing {
  [CmdletBinding(SupportsShouldProcess, ConfirmImpact = 'Low')]
  param([Parameter(ValueFromPipeline)]$Name)
  process { if ($PSCmdlet.ShouldProcess($Name, 'Remove')) { "removed $Name" } else { "kept $Name" } }
}
Remove-Thing a; 'b', 'c' | Remove-Thing -WhatIf; Remove-Thing d -Confirm:$false; Remove-Thing e -WhatIf:$false
Remove-Thing f -Verbose
$WhatIfPreference; $ConfirmPreference
function One { [CmdletBinding(SupportsShouldProcess = $true)] param() if ($PSCmdlet.ShouldProcess('it')) { 'done' }; "after" }
One -wi; One
function Three { [CmdletBinding(SupportsShouldProcess)] param() $PSCmdlet.ShouldProcess('I would do it', 'Do it?', 'Title') }; Three -WhatIf
function Outer { [CmdletBinding(SupportsShouldProcess)] param() One }; Outer -WhatIf
function Makes { [CmdletBinding(SupportsShouldProcess)] param() New-Item -ItemType File made.txt | Out-Null; Test-Path made.txt }
try { Makes -WhatIf } catch { "$_" }
Makes; Remove-Item made.txt
function High { [CmdletBinding(SupportsShouldProcess, ConfirmImpact = 'High')] param() if ($PSCmdlet.ShouldProcess('x')) { 'did' } else { 'did not' } }
High -Confirm:$false; $ConfirmPreference = 'None'; High; $ConfirmPreference = 'High'
try { High } catch { "$_" }
function Fails { [CmdletBinding()] param() try { throw 'inner' } catch { $PSCmdlet.ThrowTerminatingError($_) }; 'not here' }
try { Fails } catch { "caught $_" }
function Goes { [CmdletBinding()] param() try { throw 'soft' } catch { $PSCmdlet.WriteError($_) }; 'goes on' }
Goes -ErrorAction SilentlyContinue -ErrorVariable soft; "$soft"
function Says { [CmdletBinding()] param() $PSCmdlet.WriteVerbose('v'); $PSCmdlet.WriteWarning('w'); $PSCmdlet.WriteDebug('d') }
Says -Verbose 4>$null; Says -WarningAction SilentlyContinue; Write-Warning 'no' -WarningAction Ignore; Write-Warning 'yes' -wa Continue
function NoAsk { [CmdletBinding()] param() 1 }; try { NoAsk -WhatIf } catch { $_.FullyQualifiedErrorId }
function Own { [CmdletBinding()] param() $PSCmdlet.ThrowTerminatingError([System.Management.Automation.ErrorRecord]::new([Exception]::new('own'), 'MyId', [System.Management.Automation.ErrorCategory]::InvalidData, 'x')) }
try { Own } catch { "$_ $($_.FullyQualifiedErrorId) $($_.CategoryInfo.Category) $($_.TargetObject)" }
$r = New-Object System.Management.Automation.ErrorRecord((New-Object System.ArgumentException 'bad'), 'Id2', 'OpenError', $null); $r.CategoryInfo.Reason; "$r"
try { [System.Management.Automation.ErrorRecord]::new([Exception]::new('x'), 'i', 'NoSuchCategory', 1) } catch { "$_" }
