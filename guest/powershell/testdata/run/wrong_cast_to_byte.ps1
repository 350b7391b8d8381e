[byte]256
'it goes on'
