$e = 'Unicode'; 'x' | Out-File f -Encoding $e
