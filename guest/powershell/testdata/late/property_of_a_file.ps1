Set-ItemProperty f IsReadOnly $true
