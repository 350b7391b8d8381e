'a b'.Split(' ', 'trim')
