enum e { 'a' }
