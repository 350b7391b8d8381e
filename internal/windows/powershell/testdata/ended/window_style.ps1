Start-Process sh -NoNewWindow -WindowStyle Hidden
