$w = '$`'; 'ab' -replace 'b', $w
