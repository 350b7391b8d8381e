1, 2 | ForEach-Object { Write-Host "first $_"; $_ } | ForEach-Object { Write-Host "second $_" }
sh -c 'while true; do echo line; done' | ForEach-Object { $n += 1; if ($n -gt 2) { exit 3 }; $_ }
