New-Item -Path . -Name ""
'it goes on'
