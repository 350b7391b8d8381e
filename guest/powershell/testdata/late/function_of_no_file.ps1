if ($false) { . ./lib.ps1 }; Get-Nothing
