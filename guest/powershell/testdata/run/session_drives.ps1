# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility/set-alias
Set-Alias where2 Where-Object -Description 'mine' -Option None -Scope Global; 1, 2 | where2 { $_ -gt 1 }
New-Alias -Name say -Value Write-Output -PassThru | ForEach-Object Definition; say hello
New-Alias say Get-Date -ErrorAction SilentlyContinue; say again; New-Alias say Write-Output -Force
Set-Alias say2 say; say2 twice; sal s3 say; s3 three; nal s4 say; s4 four
Get-Alias say | ForEach-Object Definition; Test-Path alias:say; Remove-Item alias:say; Test-Path alias:say; Test-Path alias:gci
function Add-Two { param($n) $n + 2 }
Test-Path function:Add-Two; (Get-Item function:Add-Two).Name; & ${function:Add-Two} 3; Test-Path function:none
Get-Content function:Add-Two; Set-Item function:Add-Two { 'other' }; Add-Two; $function:three = { 3 }; three
Get-ChildItem function:add* | ForEach-Object Name; Remove-Item function:Add-Two; Test-Path function:Add-Two
$v = 1; Test-Path variable:v; Test-Path variable:none; (Get-Item variable:v).Value; Remove-Item variable:v; Test-Path variable:v
Set-Item variable:w 5; $w; si env:MULLION_SI 'set'; $env:MULLION_SI; Get-Item alias:none -ErrorAction SilentlyContinue; $?
# parameters that a session adds
$PSDefaultParameterValues['Write-Output:InputObject'] = 'nothing'; $PSDefaultParameterValues.Count; $PSDefaultParameterValues.Clear()
$PSDefaultParameterValues['*:NoTypeInformation'] = $true; $PSDefaultParameterValues['Join-Path:ChildPath'] = { 'child' }
Join-Path a; $PSDefaultParameterValues.Clear()
$ExecutionContext.InvokeCommand.ExpandString('w is $w'); $ExecutionContext.InvokeCommand.NewScriptBlock('1 + 1').Invoke()
$ExecutionContext.SessionState.LanguageMode
$Host.Name; $Host.UI.RawUI.WindowTitle; $Host.UI.WriteLine('to the host'); $Host.UI.RawUI.BufferSize.Width; $Host.Version.Major
$host.UI.Write('no end'); $host.UI.WriteLine(''); $Host.UI.WriteWarningLine('care'); $Host.PrivateData -eq $null
$OutputEncoding.WebName; $FormatEnumerationLimit; $ErrorView; $MaximumErrorCount; $MaximumHistoryCount; $StackTrace; $PSStyle
"a`nb" | Set-Content clear.txt; Clear-Content clear.txt; (Get-Item clear.txt).Length; 'x' | Set-Content clear.txt; clc clear.txt
(Get-Content clear.txt).Count
'x' | Set-Content one.txt; (Copy-Item one.txt two.txt -PassThru).Name; (Move-Item two.txt three.txt -PassThru).Name
(Rename-Item three.txt four.txt -PassThru).Name
New-Item -ItemType Directory from | Out-Null; 'x' | Set-Content from/a.txt; 'x' | Set-Content from/b.log
Copy-Item from to -Recurse -Filter *.txt -Container; (Get-ChildItem to).Name; Copy-Item from/* to2 -Include *.log -Exclude a* -ErrorAction SilentlyContinue
(Convert-Path one.txt) -like '*one.txt'; (cvpa one.txt) -eq (Convert-Path one.txt)
