1, 2 | foreach { $_ * 2 }
