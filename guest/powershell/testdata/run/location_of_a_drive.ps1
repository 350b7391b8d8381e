# https://learn.microsoft.com/powershell/module/microsoft.powershell.management/set-location
$here = "$PWD"
cd hklm:/software
"$PWD"; (Get-Location).Path
Get-ChildItem -Name
Test-Path Mullion; Test-Path ..\SOFTWARE\odd; Test-Path \SOFTWARE
cd Mullion; pwd | % Path
New-Item -Name Made | % Name
Set-ItemProperty -Path .\Made -Name a -Value 1
(Get-ItemProperty Made).a
Push-Location ..\..; "$PWD"
cd \
"$PWD"; Pop-Location; "$PWD"
Remove-Item Made
Set-Location none
"$PWD"
sl Env:; "$PWD"; (Get-Item COMPUTERNAME).Value
cd function:; "$PWD"
chdir Cert:\LocalMachine; Get-ChildItem | Select-Object -First 1 | % Name
cd My -PassThru | % Path
Set-Location Registry::HKEY_LOCAL_MACHINE\SOFTWARE; cd Mullion; "$PWD"
Get-Content x
cd FileSystem::$here
Set-ItemProperty none a 1
mkdir deep, deeper | Out-Null
Set-ItemProperty deep a 1
cd dee*
cd deepe*; Split-Path -Leaf "$PWD"
Set-Location
cd ..
cd HKLM:\SOFTWARE\Mullion; cd..; "$PWD"; cd\; "$PWD"; cd FileSystem::$here
Q:
Test-Path ~\none, none:\x
cd none:
cd Env:\COMPUTERNAME
