class c { $a; [int]$A }
