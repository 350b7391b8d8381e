if ($true) { echo x
