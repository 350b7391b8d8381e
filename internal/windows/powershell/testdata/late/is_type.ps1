1 -is [xml]
