# https://learn.microsoft.com/powershell/module/microsoft.powershell.utility/select-string
mkdir d | Out-Null; Set-Content d.txt 'a word'
gci | Select-String word
Select-String word d, d.txt
