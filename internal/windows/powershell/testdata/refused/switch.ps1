switch (1) { 1 { 2 } }
