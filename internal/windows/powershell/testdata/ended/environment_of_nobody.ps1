[Environment]::UserName
