[xml]'<a>'
