# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_automatic_variables ($Error, $?)
function Show($e) { "$($e.FullyQualifiedErrorId) | $($e.CategoryInfo) | $($e.Exception.GetType().Name)" }
try { Get-NoSuchThing } catch { Show $_ }
try { Get-NoSuchThing } catch [System.Management.Automation.CommandNotFoundException] { 'by its type' }
try { Get-Item . -NoSuchParameter } catch [System.Management.Automation.ParameterBindingException] { Show $_ }
try { [No.Such.Type]::Member } catch { Show $_ }
try { [No.Such.Type]'x' } catch { Show $_ }
try { 'x'.NoSuchMethod(1) } catch { Show $_ }
try { [string]::NoSuchMethod(1) } catch { Show $_ }
try { throw 'mine' } catch { Show $_ }
try { [int]'x' } catch [System.Management.Automation.RuntimeException] { $_.CategoryInfo.Reason; $_.CategoryInfo.Category; $_.CategoryInfo.Activity; $_.CategoryInfo.TargetName; $_.CategoryInfo.TargetType }
try { Get-Item no-such-file -ErrorAction Stop } catch { Show $_ }
try { Invoke-Expression 'if (' } catch [System.Management.Automation.ParseException] { Show $_ }
Get-NoSuchThing; $?
'goes on'; $Error[0].CategoryInfo.Category; $Error[0].InvocationInfo.ScriptLineNumber; $Error.Count -gt 5
Get-NoSuchThing -ErrorAction SilentlyContinue 2>$null; 'silent'
function Uncalled { Optimize-Volume -Everything; [No.Such.Type]::Member }
kube-proxy --version
& { $ErrorActionPreference = 'SilentlyContinue'; Get-NoSuchThing; 'quiet' }
try { & { $ErrorActionPreference = 'Stop'; Get-Item no-such-file; 'never' } } catch { 'stopped' }
try { $true = 1 } catch { Show $_ }
