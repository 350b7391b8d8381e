try 1
