Export-Csv f -InputObject 1 -WhatIf
