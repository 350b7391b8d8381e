1, 'two' | Out-File f -Encoding ascii
'three' | Out-File -FilePath f -Append
Get-Content f
Out-File g -InputObject x
cat g
