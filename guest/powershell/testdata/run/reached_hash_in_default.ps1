function f($a = @{ b = (Optimize-Volume) }) { 1 }
