# https://learn.microsoft.com/powershell/module/microsoft.powershell.management/new-item
mkdir d | Out-Null; Set-Content d/f.txt 'in it'
New-Item -ItemType Junction -Path j -Target d | ForEach-Object { $_.Name }
Get-Content j/f.txt
New-Item -ItemType HardLink -Path h.txt -Value d/f.txt | Out-Null; Set-Content h.txt 'changed'; Get-Content d/f.txt
New-Item -ItemType Junction -Path k -Target d/f.txt
New-Item -ItemType HardLink -Path i -Target d
New-Item -ItemType Junction -Path l -Target nosuch
Test-Path k, i, l
Set-Content kept.txt 'kept'
New-Item -ItemType Junction -Path kept.txt -Target d/f.txt -Force
Get-Content kept.txt
New-Item -ItemType Junction -Path d/below -Target d | Out-Null; Test-Path d/below/f.txt
# a link in its own place, or in that of what it leads to, is refused: what is there stays
New-Item -ItemType HardLink -Path kept.txt -Target kept.txt -Force
New-Item -ItemType HardLink -Path j/f.txt -Target d/f.txt -Force
New-Item -ItemType SymbolicLink -Path kept.txt -Target kept.txt -Force
New-Item -ItemType Junction -Path kept.txt -Target d -Force
New-Item -ItemType Junction -Path d -Target j
Get-Content kept.txt, d/f.txt
# an empty folder becomes a junction, as there, and an item that is there is an IOException
mkdir e | Out-Null; New-Item -ItemType Junction -Path e -Target d | Out-Null; Test-Path e/f.txt
foreach ($what in @{ItemType = 'File'; Path = 'kept.txt'}, @{ItemType = 'Directory'; Path = 'd'}, @{ItemType = 'HardLink'; Path = 'kept.txt'; Value = 'd/f.txt'}) {
  try { New-Item @what -ErrorAction Stop } catch [IO.IOException] { $_.FullyQualifiedErrorId; $_.CategoryInfo.Category; $_.Exception.Message -replace "[^ ']*/" }
}
