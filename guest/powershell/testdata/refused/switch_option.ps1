switch -nothing (1) { 1 { 2 } }
