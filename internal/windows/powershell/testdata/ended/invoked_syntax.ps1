Invoke-Expression 'if ('
