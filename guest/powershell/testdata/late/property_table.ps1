1 | Select-Object @{ Name = 'a'; Width = 5 }
