function f($a = @{ b = (Get-Disk) }) { 1 }
