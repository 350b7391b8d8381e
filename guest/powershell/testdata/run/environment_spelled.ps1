$env:My_Own__Key = 'a'; $env:MY_OWN__KEY = 'b'; $env:my_own__key
Get-ChildItem env:my_own* | ForEach-Object { "$($_.Name)=$($_.Value)" }
[Environment]::SetEnvironmentVariable('Other.Name', 'c'); ([Environment]::GetEnvironmentVariables().Keys | Where-Object { $_ -like 'other*' -or $_ -like 'my_own*' } | Sort-Object) -join ' '
$env:My_Own__Key = ''; $env:my_own__KEY = 'again'; (Get-ChildItem env:my_own*).Name
