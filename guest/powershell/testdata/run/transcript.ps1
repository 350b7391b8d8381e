# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.host/start-transcript
Stop-Transcript
Start-Transcript -Path own/t.txt -Force -IncludeInvocationHeader
'an output'; Write-Host 'said'; Get-Item none; Write-Warning 'careful'
Get-Item hidden 2>$null
$null = Start-Transcript -OutputDirectory more
'in both'
$null = Stop-Transcript
Stop-Transcript
'after'
$text = Get-Content own/t.txt -Raw; ($text -split '\*{22}').Count
($text -split '\*{22}\n')[2]
(Get-ChildItem more).Name -like 'PowerShell_transcript.HOST-1.*.txt'; (Get-Content more/*.txt) -contains 'in both'; (Get-Content more/*.txt) -contains 'said'
$null = Start-Transcript own/t.txt -Append; $null = Stop-Transcript; (Get-Content own/t.txt | Select-String 'transcript start').Count
Start-Transcript -LiteralPath own/t.txt -NoClobber
