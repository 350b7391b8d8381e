$e = 'UTF7'; 'x' | Out-File f -Encoding $e
