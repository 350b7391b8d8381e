"a`n" -match 'a$'
