'a' -like '[a'
