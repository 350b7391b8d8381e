New-Object -ComObject Shell.Application
