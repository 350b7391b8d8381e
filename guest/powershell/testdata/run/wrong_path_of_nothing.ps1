Remove-Item $undefined -Recurse
'it goes on'
