function f([ValidatePattern('a')]$x) { 1 }
