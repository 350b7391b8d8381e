$t = "ä"; $t | Out-File f -Encoding ascii
