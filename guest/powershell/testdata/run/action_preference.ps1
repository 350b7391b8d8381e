$ErrorActionPreference; $ErrorActionPreference.GetType().FullName; $WarningPreference -eq 'continue'
Get-Item none -ErrorAction ([System.Management.Automation.ActionPreference]::SilentlyContinue); "silent $?"
Get-Item none -ea 0; Get-Item none -ea sil; $quiet = [Management.Automation.ActionPreference]::Ignore; Get-Item none -ErrorAction $quiet; $Error.Count
function local { $ErrorActionPreference = 'Stop'; try { Get-Item none } catch { "local: $_" } }; local
$global:ErrorActionPreference = [System.Management.Automation.ActionPreference]::Stop
"$ErrorActionPreference $([int]$ErrorActionPreference.value__)"
try { Get-Item none; 'not here' } catch { "stopped: $_" }
$ErrorActionPreference = 2; $ErrorActionPreference; $ErrorActionPreference = 'silentlycontinue'; $ErrorActionPreference
Get-Item none
[System.Management.Automation.ActionPreference]::Suspend.value__
