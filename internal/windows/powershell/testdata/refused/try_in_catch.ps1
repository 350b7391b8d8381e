try { echo x } catch { Clear-Disk }
