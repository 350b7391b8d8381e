do { echo x }
