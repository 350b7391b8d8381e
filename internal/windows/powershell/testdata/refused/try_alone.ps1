try { echo x }
