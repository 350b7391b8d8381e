[scriptblock]::Create('Clear-Disk')
