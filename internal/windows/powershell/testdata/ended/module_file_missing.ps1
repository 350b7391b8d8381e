Import-Module ./nothing.psm1
