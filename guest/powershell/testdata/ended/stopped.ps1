$ErrorActionPreference = 'Stop'; Get-Item none
