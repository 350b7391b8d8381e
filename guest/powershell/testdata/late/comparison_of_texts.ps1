'a'.StartsWith('b', 5)
