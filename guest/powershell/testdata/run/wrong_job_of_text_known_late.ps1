$b = 'x'; Start-Job $b
'it goes on'
