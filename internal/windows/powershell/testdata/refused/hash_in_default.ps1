function f($a = @{ b = (Clear-Disk) }) { 1 }
