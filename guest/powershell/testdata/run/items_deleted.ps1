mkdir folder/below | Out-Null; Set-Content folder/file x; $item = Get-Item folder
try { $item.Delete() } catch { "$_" }; Test-Path folder; $item.delete($true); Test-Path folder -PathType Container
try { $item.Delete() } catch { $_.Exception.InnerException.GetType().FullName }
Set-Content file y; $file = Get-Item file; $file.LinkType -eq $null; $file.Target.Count; $file.Delete(); Test-Path file; $file.Delete(); 'twice'
mkdir real | Out-Null; Set-Content real/kept z; New-Item -ItemType SymbolicLink -Path link -Value real | Out-Null
$link = Get-Item link; $link.LinkType; $link.Target[0]; $link.Target.GetType().FullName; $link.Target; $link.Delete(); Test-Path link; Get-Content real/kept
(Get-Item real).Target.Count; Set-Content locked x; sh -c 'chmod a-w locked'; try { (Get-Item locked).Delete() } catch { $_.Exception.InnerException.GetType().Name }
sh -c 'ln -s "\\\\files\\data\\sub" share; ln -s "\\\\?\\Volume{1}\\" volume'; (Get-Item share).Target[0]; (Get-Item volume).Target[0]
Get-ChildItem real | ForEach-Object { $_.Delete() }; @(Get-ChildItem real).Count; Get-Item real | ForEach-Object Delete; Test-Path real; (Get-Item . | Get-Member Delete).Definition
