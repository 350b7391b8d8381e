[byte]256
