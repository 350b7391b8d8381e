function f($a = @{}) { 1 }
