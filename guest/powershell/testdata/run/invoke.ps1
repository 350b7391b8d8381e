$exe = "sh -c 'echo proxy --v=4; exit 3'"
Invoke-Expression $exe
"$LASTEXITCODE $(iex '1+1')"
