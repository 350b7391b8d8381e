"$(Optimize-Volume)"
