'a' -like '[b-a]'
