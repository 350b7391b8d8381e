$t = 'Junction'; New-Item x -ItemType $t
