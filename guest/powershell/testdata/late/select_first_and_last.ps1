1 | Select-Object -First 1 -Last 1
