Invoke-WebRequest http://127.0.0.1:1/ -Headers 5
