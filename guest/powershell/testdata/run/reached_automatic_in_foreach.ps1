foreach ($host in 1) { 2 }
