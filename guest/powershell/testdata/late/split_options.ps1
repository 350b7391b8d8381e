'a' -split ',', 0, 'SimpleMatch'
