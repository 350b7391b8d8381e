Optimize-Volume -Class x
