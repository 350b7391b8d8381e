enum e { a; A }
