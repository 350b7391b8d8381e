function f($env:a) { 1 }
