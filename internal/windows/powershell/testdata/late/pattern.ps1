'a' -match '(?=a)'
