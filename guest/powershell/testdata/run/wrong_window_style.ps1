Start-Process sh -NoNewWindow -WindowStyle Hidden
'it goes on'
