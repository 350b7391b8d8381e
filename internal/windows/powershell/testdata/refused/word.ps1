echo a"b
