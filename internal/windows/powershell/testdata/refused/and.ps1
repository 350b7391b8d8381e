echo a && echo b
