'b', 'a' | sort.exe
'b', 'a' | /usr/bin/sort | ForEach-Object { "<$_>" }
$x = sh -c 'printf "1\n2"'
$x.Count
$x[1]
