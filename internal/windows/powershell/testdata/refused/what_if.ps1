Remove-Item a -WhatIf
