function f([ValidateSet($a)]$x) { 1 }
