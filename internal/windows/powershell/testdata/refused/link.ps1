New-Item -ItemType SymbolicLink -Path a -Value b
