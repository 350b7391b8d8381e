echo a }
