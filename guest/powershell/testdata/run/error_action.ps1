Get-Item none -ErrorAction Ignore; "$?"
Get-Item none -ErrorAction SilentlyContinue; "$?"
Get-Item none -EA Continue
$ErrorActionPreference = 'SilentlyContinue'
Get-Item none
no-such.exe
Get-Item none -ErrorAction Stop
echo 'not here'
