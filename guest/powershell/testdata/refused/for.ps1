for ($i = 0 $i -lt 1) { 1 }
