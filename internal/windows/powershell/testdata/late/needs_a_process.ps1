Stop-Process
