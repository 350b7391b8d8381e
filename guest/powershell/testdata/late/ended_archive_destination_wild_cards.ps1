$to = 'a*'; Expand-Archive a.zip $to
