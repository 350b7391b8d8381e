Expand-Archive *.zip
