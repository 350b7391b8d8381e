# https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.switchparameter
function Test-It {
  param([System.Management.Automation.SwitchParameter]$Force, [Management.Automation.SwitchParameter] $Quiet, [string]$Name)
  "force $Force, quiet $Quiet, name $Name, present $($Force.IsPresent), $($Force.ToBool())"
}
Test-It
Test-It -Force -Name x
Test-It -Force:$false -Quiet y
[switch]$on = $true; "$on"
try { Test-It -Force:'text' } catch { "$_" }
