New-Object System.Net.WebClient
