try { @{ a = 1 }.ToUpper() } catch { 'caught' }
