New-Item -ItemType Junction -Path a -Value b
