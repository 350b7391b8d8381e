Set-Content m.psm1 "class x {}"; Import-Module ./m.psm1
