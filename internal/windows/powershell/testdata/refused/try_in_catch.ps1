try { echo x } catch { Get-Disk }
