mkdir d | Out-Null
cd d
(Get-Location).Path
pwd
Set-Location none
Set-Location ..
"$PWD"
