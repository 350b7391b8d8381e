(New-Item f -Value text).Name
cat f
New-Item f
New-Item f -Force | Out-Null
cat f
'piped' | New-Item g | Out-Null
cat g
New-Item -ItemType Directory -Path d/e | Out-Null
New-Item d -ItemType Directory -Force | Out-Null
New-Item x/y -Force | Out-Null
Test-Path x/y
mkdir d
