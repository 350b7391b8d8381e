function f { end { 1 } end { 2 } }
