Copy-Item a b*
