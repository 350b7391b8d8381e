mkdir d | Out-Null; ln -s .. d/up; Compress-Archive d a
