foreach($i in 1..2147483647){ if ($i -ge 3) { break }; $i }
