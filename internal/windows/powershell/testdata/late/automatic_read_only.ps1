$PID = 5
