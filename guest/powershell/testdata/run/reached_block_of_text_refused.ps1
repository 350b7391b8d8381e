[scriptblock]::Create('Optimize-Volume')
