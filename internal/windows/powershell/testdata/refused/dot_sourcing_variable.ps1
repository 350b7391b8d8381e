.$file
