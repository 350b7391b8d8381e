Restart-Computer -Force
"asked"
Stop-Computer -ErrorAction SilentlyContinue
"not stopped: $?"
try { Stop-Computer -Force -ErrorAction Stop } catch { $_.Exception.Message }
