exit 'x'
