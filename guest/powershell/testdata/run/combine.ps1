[io.Path]::Combine('c:/', 'sourcevip', 'x.json'); [System.IO.Path]::Combine('a', '/b')
