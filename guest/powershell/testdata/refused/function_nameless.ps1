function { 1 }
