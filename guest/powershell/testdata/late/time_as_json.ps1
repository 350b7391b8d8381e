'{}' | ConvertFrom-Json | Out-Null
$t = Get-Item . | ForEach-Object { $_.LastWriteTime }; $t | ConvertTo-Json
