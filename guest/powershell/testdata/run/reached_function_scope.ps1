function my:f { 1 }
