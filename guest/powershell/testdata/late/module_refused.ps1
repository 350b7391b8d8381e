Set-Content m.psm1 "workflow x {}"; Import-Module ./m.psm1
