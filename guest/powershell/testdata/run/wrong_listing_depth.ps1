Get-ChildItem -Depth x
'it goes on'
