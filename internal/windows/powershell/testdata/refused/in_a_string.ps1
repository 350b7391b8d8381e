"$(Clear-Disk)"
