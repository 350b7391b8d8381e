Import-Module ./nothing.psm1
'it goes on'
