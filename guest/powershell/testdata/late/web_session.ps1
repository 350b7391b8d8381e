Invoke-WebRequest http://x/ -SessionVariable s
