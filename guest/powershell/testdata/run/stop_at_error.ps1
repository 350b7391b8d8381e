$ErrorActionPreference = 'Stop'
Get-Item no-such
echo on
