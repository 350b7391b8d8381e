@(1, 2) - 1
'it goes on'
