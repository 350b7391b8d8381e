'b', 'a' | /usr/bin/sort
