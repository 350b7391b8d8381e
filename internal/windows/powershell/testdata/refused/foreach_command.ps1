foreach { 1 }
