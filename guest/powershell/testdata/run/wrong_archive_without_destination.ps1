Expand-Archive a.zip -DestinationPath ""
'it goes on'
