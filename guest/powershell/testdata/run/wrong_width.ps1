'a' | Out-String -Width x
'it goes on'
