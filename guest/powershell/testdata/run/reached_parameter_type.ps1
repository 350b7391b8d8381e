function f([xml]$a) { 1 }
