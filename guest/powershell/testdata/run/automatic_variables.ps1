"$PID"
"$HOME"
$PWD
"$PWD"
$PWD.Path
$ErrorActionPreference
$ProgressPreference
$x = $null -eq $LASTEXITCODE
$x
1..2 | ForEach-Object { "item $PSItem" }
