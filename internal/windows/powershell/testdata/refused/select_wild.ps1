1 | Select-Object -Property *
