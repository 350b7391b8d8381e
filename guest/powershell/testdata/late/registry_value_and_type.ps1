New-Item HKCU:\x -ItemType Directory -Value 1
