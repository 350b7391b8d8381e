$a = 2; if ($a -eq 1) { 'one' } elseif ($a -eq 2) { 'two' } else { 'more' }
