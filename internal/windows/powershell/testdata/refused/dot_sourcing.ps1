. ./lib.ps1
