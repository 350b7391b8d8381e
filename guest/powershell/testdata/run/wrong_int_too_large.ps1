[int]3000000000
'it goes on'
