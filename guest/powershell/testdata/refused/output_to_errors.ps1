echo x 1>&2
