switch -file x { 1 { 2 } }
