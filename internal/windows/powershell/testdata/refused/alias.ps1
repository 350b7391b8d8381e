epal 'x'
