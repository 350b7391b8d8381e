sc query
