sh -c "exit 3"
