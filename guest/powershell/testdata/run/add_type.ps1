# code needs a compiler: the error is of the statement with the code, and says what to do
# (https://learn.microsoft.com/powershell/module/microsoft.powershell.utility/add-type)
Add-Type @'
using System;
public class Ctrl { public void Handle() { } }
'@
try { Add-Type -TypeDefinition 'public class A { int n = 1; }' -Language CSharp -ReferencedAssemblies System -IgnoreWarnings }
catch [System.InvalidOperationException] { $_.FullyQualifiedErrorId }
$member = 'public static int Two() { return 2; }'
try { Add-Type -MemberDefinition $member -Name K -Namespace W -UsingNamespace System.Text -PassThru } catch { "$_" }
try { Add-Type -Path some.dll } catch { $_.CategoryInfo.Reason; "$_" }
try { Add-Type -LiteralPath some.cs } catch { $_.CategoryInfo.Category }
try { Add-Type -Path some.txt } catch { "$_" }
Add-Type -AssemblyName System.Web, System.Net.Http; $?
Add-Type -AssemblyName PresentationFramework
try { [Ctrl]::SetConsoleCtrlHandler($null, $true) } catch { "$_" }
