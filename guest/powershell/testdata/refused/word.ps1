echo a{b
