function f($args) { 1 }
