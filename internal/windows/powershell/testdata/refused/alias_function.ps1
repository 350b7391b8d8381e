function ls { 1 }
