echo 5l
