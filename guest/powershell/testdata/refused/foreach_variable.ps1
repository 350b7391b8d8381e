foreach (1 in 2) { 3 }
