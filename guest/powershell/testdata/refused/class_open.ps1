class c { $a
