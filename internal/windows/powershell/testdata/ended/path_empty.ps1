$e = ''; Remove-Item "$e" -Recurse
