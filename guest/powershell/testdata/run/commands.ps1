Get-Command Get-ChildItem, ls
Get-Command ls | Format-List CommandType, Name, Definition
mkdir tools/inner | Out-Null
Set-Content tools/mytool, tools/mine ''
$env:PATH = "$PWD/tools"
(Get-Command mytool).Source
(Get-Command mytool).CommandType
gcm nothing
Get-Command nothing -ErrorAction SilentlyContinue
$?
function hello { 'hi' }
Get-Command hell*
Get-Command -CommandType Function
Get-Command m* -CommandType Application | ForEach-Object { $_.Name }
(Get-Command | Where-Object CommandType -eq Cmdlet | Measure-Object).Count -gt 50
'pwd' | Get-Command
Get-Alias dir
Get-Alias -Definition Get-ChildItem
gal nothing
(Get-Alias).Count -gt 50
