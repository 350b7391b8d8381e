'baac' -replace 'a*', 'x'
