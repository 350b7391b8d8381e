1 / 0
'it goes on'
