# csi-proxy's link to a share
mkdir there | Out-Null; Set-Content there/file here
$Env:smblocalPath = 'link'; $Env:smbremotepath = 'there'
New-Item -ItemType SymbolicLink $Env:smblocalPath -Target $Env:smbremotepath | ForEach-Object Name
Get-Content link/file; (Get-Item link).Target
New-Item -ItemType SymbolicLink other -Target nothere
