$c = "Get-Item"; . $c
