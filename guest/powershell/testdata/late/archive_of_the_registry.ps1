Compress-Archive HKLM:\SOFTWARE a.zip
