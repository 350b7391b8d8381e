Start-Job { Optimize-Volume }
