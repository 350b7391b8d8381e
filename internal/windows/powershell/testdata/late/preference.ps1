$a = 'Ignore'; $ErrorActionPreference = $a
