(Initialize-Disk -Number 1 -PartitionStyle MBR)
