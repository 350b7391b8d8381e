$t = "ä"; $t | Out-File f -Encoding oem
