Rename-Item a -NewName { 1 }
