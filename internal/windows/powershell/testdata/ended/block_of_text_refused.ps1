[scriptblock]::Create('Get-Disk')
