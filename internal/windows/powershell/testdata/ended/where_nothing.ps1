1 | Where-Object $undefined
