'a' | Out-String -Width x
