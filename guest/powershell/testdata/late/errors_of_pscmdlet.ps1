function T { [CmdletBinding()] param() $PSCmdlet.ThrowTerminatingError('text') }
try { T } catch { "$_" }
function W { [CmdletBinding()] param() $PSCmdlet.WriteError('text') }
try { W } catch { "$_" }
function S { [CmdletBinding()] param() $PSCmdlet.WriteObject('text') }
try { S } catch { "$_" }
function A { [CmdletBinding(SupportsShouldProcess)] param() Stop-Service none }
try { A -Confirm } catch { "$_" }
function V { [CmdletBinding()] param() 1 }
try { V -WarningAction Inquire } catch { "$_" }
Write-Warning x -WarningAction Inquire
