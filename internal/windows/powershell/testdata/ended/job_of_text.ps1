Start-Job 'x'
