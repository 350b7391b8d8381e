# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_command_precedence
function echo { 'the function' }
function Get-Date { 'a function goes before a cmdlet' }
function help { 'help is a function of PowerShell, which this one replaces' }
function curl.exe { 'another name' }
function shown { [Alias('write')] param($x) "the function's own alias: $x" }
echo 'the alias'
Echo again
& echo 'by its name'
1, 2 | echo
Get-Date
help
curl.exe
write 5
function measure { 'never' }
(1..3 | measure).Count
function md { 'never' }
(md folder).Name
function sc { 'an alias of what is not here' }
try { sc 1 } catch { $_.FullyQualifiedErrorId }
