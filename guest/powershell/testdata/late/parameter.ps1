Get-ChildItem -Hidden
