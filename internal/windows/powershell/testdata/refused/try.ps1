try { echo x } catch { }
