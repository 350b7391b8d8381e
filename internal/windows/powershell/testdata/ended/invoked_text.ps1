Invoke-Expression 'Optimize-Volume'
