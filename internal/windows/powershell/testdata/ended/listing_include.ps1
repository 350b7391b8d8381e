Get-ChildItem -Include *.log
