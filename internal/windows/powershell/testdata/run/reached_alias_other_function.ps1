function curl { 1 }
