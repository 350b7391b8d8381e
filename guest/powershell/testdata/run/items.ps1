New-Item -ItemType Directory d | Out-Null
Test-Path d
rm -Recurse d
Test-Path d
