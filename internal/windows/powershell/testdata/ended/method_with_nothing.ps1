$e = ''; 'abc'.Split("$e")
