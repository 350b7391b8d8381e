$m = 'Dism'; Import-Module $m
