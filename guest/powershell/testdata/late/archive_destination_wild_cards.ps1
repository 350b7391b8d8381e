Expand-Archive a.zip b*
