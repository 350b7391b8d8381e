class A { $X = [A]::new() }
[A]::new()
