Get-ChildItem -Depth x
