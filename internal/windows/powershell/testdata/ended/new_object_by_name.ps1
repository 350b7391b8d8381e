$n = 'System.Net.WebClient'; New-Object $n
