./none.ps1
