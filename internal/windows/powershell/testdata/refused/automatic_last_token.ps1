echo $$
