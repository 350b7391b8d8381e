Import-Module Dism
