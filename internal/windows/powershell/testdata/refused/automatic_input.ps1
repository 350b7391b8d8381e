function f { $input } 1 | f
