1 | Where-Object $undefined
'it goes on'
