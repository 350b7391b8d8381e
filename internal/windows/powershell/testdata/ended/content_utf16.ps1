sh -c 'printf "\377\376a\000" > f'; Get-Content f
