$b = 'x'; Start-Job $b
