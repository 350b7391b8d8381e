'a' -replace '[a', 'b'
