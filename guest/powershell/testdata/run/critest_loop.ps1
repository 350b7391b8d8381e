while($true) { echo 'x'; sleep 0.001; break }
