1 -bogus 2
