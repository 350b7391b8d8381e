function f(5) { 1 }
