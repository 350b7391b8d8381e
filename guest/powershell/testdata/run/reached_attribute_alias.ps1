function f { [Alias('g')] param($x) 1 }
