mkdir d | Out-Null
(New-Item -Path d/ -Name f -Value text).Name
cat d/f
(New-Item -Name g -ItemType Directory).FullName
