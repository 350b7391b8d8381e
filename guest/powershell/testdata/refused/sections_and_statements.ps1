function f { begin { 1 } 2 }
