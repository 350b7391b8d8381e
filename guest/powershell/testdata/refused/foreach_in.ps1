foreach ($a of 2) { 3 }
