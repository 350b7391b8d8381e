$e = ''; Remove-Item "$e" -Recurse
'it goes on'
