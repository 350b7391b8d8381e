try { echo x } catch { Optimize-Volume }
