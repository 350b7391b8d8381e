1 + 'x'
'it goes on'
