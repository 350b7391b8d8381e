$t = 'Pipe'; New-Item x -ItemType $t
