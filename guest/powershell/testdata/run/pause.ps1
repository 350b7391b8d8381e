# pause is Read-Host with a question of its own; who has no input is told so
pause
'a', 2 | oss
(Get-Item . | oss).Count -gt 3
