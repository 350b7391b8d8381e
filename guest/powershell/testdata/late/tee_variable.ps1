'x' | Tee-Object -Variable pid
