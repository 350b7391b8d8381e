enum { a }
