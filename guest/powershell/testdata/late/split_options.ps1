'a' -split ',', 0, 'OtherMatch'
