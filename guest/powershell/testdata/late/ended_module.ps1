$m = 'Hyper-V'; Import-Module $m
