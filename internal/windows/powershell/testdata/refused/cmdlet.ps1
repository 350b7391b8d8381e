Clear-Disk -Class x
