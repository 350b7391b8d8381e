Remove-Item $undefined -Recurse
