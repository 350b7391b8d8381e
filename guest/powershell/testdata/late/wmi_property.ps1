Get-CimInstance x -Property 'a, b'
