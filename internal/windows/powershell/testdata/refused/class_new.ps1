[System.Net.WebClient]::new()
