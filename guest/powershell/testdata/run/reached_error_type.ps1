try { [int]'x' } catch { $_.Exception.GetType() }
