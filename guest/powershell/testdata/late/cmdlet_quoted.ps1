& 'Optimize-Volume'
